//! Scheduled tasks as entries of a store: what a task does and when is its content, so that neither can be changed without its record noticing.

use anyhow::{Context as _, Result, ensure};
use floodmark_core::lineage::{CallRequest, CheckAnswer, Decision};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::store::{Store, Use};

/// The name of the store that tasks are in.
pub const STORE: &str = "tasks";

/// A task.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The tool that it calls.
    pub tool: String,
    /// With these arguments.
    pub arguments: Map<String, Value>,
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
    /// A task that is never due.
    pub fn content(&self) -> Result<String> {
        ensure!(self.every_s > 0, "a task must be due at times; give at least 1 second");
        Ok(serde_json::to_string(self)?)
    }

    fn call(&self) -> Result<CallRequest> {
        // The gate reads arguments as JSON spells them, here as everywhere.
        let arguments = serde_json::from_str(&serde_json::to_string(&self.arguments)?)?;
        Ok(CallRequest { tool: self.tool.clone(), arguments })
    }
}

/// A due task and what the gate says of it.
pub struct Due {
    /// For whom it acts.
    pub principal: String,
    /// Its name.
    pub name: String,
    /// What it would do; `None` if what stands there is no task.
    pub task: Option<Task>,
    /// What may become of it.
    pub answer: CheckAnswer,
}

impl Due {
    /// The task, if it may fire: there is no other way to one that does.
    pub fn fires(&self) -> Option<&Task> {
        self.task.as_ref().filter(|_| self.answer.decision == Decision::Run)
    }
}

/// The tasks that are due after `last_s` up to `now_s`, each checked just now, as the call that it would make.
///
/// # Errors
/// The store cannot be read, or a call cannot be checked.
pub fn due(store: &Store, grants: &[String], last_s: u64, now_s: u64) -> Result<Vec<Due>> {
    let mut found = Vec::new();
    for (principal, name) in store.entries()? {
        // What stands there may be anybody's, so nothing is done because of it before there is an answer.
        let mut task: Option<Task> = None;
        let wanted = |content: &str| {
            task = serde_json::from_str(content).ok();
            Ok(Use { call: task.as_ref().map(Task::call).transpose()?, grants: grants.to_vec() })
        };
        let (_, answer) = store.recall_for(&principal, &name, wanted).with_context(|| format!("task {name:?} of {principal}"))?;
        if task.as_ref().is_some_and(|task| !task.is_due(last_s, now_s)) {
            continue;
        }
        found.push(Due { principal, name, task, answer });
    }
    Ok(found)
}
