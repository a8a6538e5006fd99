//! Scheduled tasks as entries of a store: what a task does and when is its content, so that neither can be changed without its record noticing.

use anyhow::{Context as _, Result, ensure};
use floodmark_core::limits::{MAX_GRANTS, MAX_TOOL_BYTES};
use floodmark_core::lineage::{CallRequest, CheckAnswer, Decision, decode_hex};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::store::{Store, Use};

/// The name of the store that tasks are in.
pub const STORE: &str = "tasks";

/// A task.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The tool that it calls.
    pub tool: String,
    /// With these arguments, a JSON object as it was spelled: read and written again, a number could be another one.
    pub arguments: Box<RawValue>,
    /// Every so many seconds of Unix time.
    pub every_s: u64,
}

impl Task {
    /// Whether it is due at some time after `last_s` up to `now_s`, both Unix time in seconds.
    pub fn is_due(&self, last_s: u64, now_s: u64) -> bool {
        self.every_s > 0 && last_s / self.every_s < now_s / self.every_s
    }

    /// Its text in the store.
    ///
    /// # Errors
    /// A task that is never due, or that would make no call.
    pub fn content(&self) -> Result<String> {
        ensure!(self.every_s > 0, "a task must be due at times; give at least 1 second");
        self.call()?;
        Ok(serde_json::to_string(self)?)
    }

    fn call(&self) -> Result<CallRequest> {
        let tool = (1..=MAX_TOOL_BYTES).contains(&self.tool.len()) && !self.tool.contains(char::is_control);
        ensure!(tool, "a tool's name has 1 to {MAX_TOOL_BYTES} bytes and no control characters");
        let arguments =
            serde_json::from_str(self.arguments.get()).context("the arguments cannot be checked: they must be a JSON object")?;
        Ok(CallRequest { tool: self.tool.clone(), arguments })
    }
}

/// A due task and what the gate says of it.
pub struct Due {
    /// For whom it acts.
    pub principal: String,
    /// Its name.
    pub name: String,
    /// What it would do; `None` if what stands there is no task, or cannot be believed to be one.
    pub task: Option<Task>,
    /// What may become of it; or why there is no answer, for example because of what somebody wrote there.
    pub answer: Result<CheckAnswer>,
}

impl Due {
    /// The task, if it may fire: there is no other way to one that does.
    pub fn fires(&self) -> Option<&Task> {
        self.with(Decision::Run)
    }

    /// The task, if the gate decided so.
    pub fn with(&self, decision: Decision) -> Option<&Task> {
        self.task.as_ref().filter(|_| self.answer.as_ref().is_ok_and(|answer| answer.decision == decision))
    }
}

/// The tasks that are due after `last_s` up to `now_s`, each checked just now, as the call that it would make. One that cannot be checked keeps no other from firing.
///
/// # Errors
/// The store cannot be read or was written by others, or a grant that is none.
pub fn due(store: &mut Store, grants: &[String], last_s: u64, now_s: u64) -> Result<Vec<Due>> {
    ensure!(grants.len() <= MAX_GRANTS, "at most {MAX_GRANTS} grants");
    for (number, grant) in grants.iter().enumerate() {
        ensure!(decode_hex(grant, &mut Vec::new()), "grant {} is not lower-case hex", number + 1);
    }
    let mut found = Vec::new();
    for (principal, name) in store.entries()? {
        // What stands there may be anybody's, so nothing is done because of it before there is an answer.
        let mut task: Option<Task> = None;
        let wanted = |content: &str| {
            task = serde_json::from_str(content).ok();
            Ok(Use { call: task.as_ref().map(Task::call).transpose()?, grants: grants.to_vec() })
        };
        let answer = store.recall_for(&principal, &name, wanted).map(|(_, answer)| answer);
        if task.as_ref().is_some_and(|task| !task.is_due(last_s, now_s)) {
            continue;
        }
        found.push(Due { principal, name, task, answer });
    }
    Ok(found)
}
