//! The independence unit of a record: what records share that stem from one task, template or document.

use super::record::{Label, Record};

/// Sets whose READMEs name the task alone as the unit: it means the same in every suite and whatever is injected.
const UNIT_IS_TASK: [&str; 3] = ["asb_drift", "benign_agent_runs", "goal_drift_agents"];

/// The unit: the record's own name for it, else the task, else the record itself.
///
/// Elsewhere each suite counts its tasks from 0, and attacked runs are counted by what is injected, since that is what is to be found.
pub fn unit(set: &str, record: &Record) -> String {
    unit_of(set, record, record.label != Label::Benign)
}

/// The unit of a text in the record that holds what is injected, or does not: then it is the task's.
pub fn unit_of(set: &str, record: &Record, injected: bool) -> String {
    let task = record.task.as_deref().unwrap_or(&record.id);
    if let Some(unit) = &record.unit {
        return unit.clone();
    } else if UNIT_IS_TASK.contains(&set) {
        return task.to_owned();
    }
    let injected = record.injection_task.as_deref().filter(|_| injected);
    let task = injected.unwrap_or(task);
    record.suite.as_ref().map_or_else(|| task.to_owned(), |suite| format!("{suite}/{task}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(set: &str, keys: &str) -> String {
        let text = format!(r#"{{"id":"r1","source":"s","split":"train","messages":[],{keys}}}"#);
        unit(set, &serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn units_are_what_the_sets_say() {
        assert_eq!(of("sgd", r#""label":"benign","unit":"u","task":"t""#), "u");
        assert_eq!(of("llm", r#""label":"benign""#), "r1");
        assert_eq!(of("agentdyn", r#""label":"benign","suite":"banking","task":"t0","injection_task":null"#), "banking/t0");
        assert_eq!(of("agentdyn", r#""label":"benign","suite":"banking","task":"t0","injection_task":"i1""#), "banking/t0");
        assert_eq!(of("agentdyn", r#""label":"attack_failed","suite":"banking","task":"t0","injection_task":"i1""#), "banking/i1");
        assert_eq!(of("goal_drift_agents", r#""label":"attack_failed","suite":"a","task":"t0","injection_task":"i1""#), "t0");
    }
}
