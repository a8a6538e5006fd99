//! Agent runs that met an attack against benign ones, in statistics of their events' scores ("Amplify, Don't Create", design/papers.md B).
//!
//! ```text
//! evaluate::Run -> View (scores of one detector; rarities against References) -> Population (attacked and benign runs, sampled by task)
//!      -> compare (AUCs, gaps, goals), sweep (drifts, productive band), pictures (histograms, CUSUM traces) -> report::Section
//! ```
//!
//! The independence unit is the user's task, which attacked and benign runs share: both are drawn together.

mod compare;
mod paper;
mod pictures;
mod population;
mod rarity;
mod statistic;
mod sweep;

use floodmark_core::Detector;

pub use rarity::{References, Which};
pub(crate) use statistic::accumulated;
pub(crate) use sweep::drifts;

use crate::data::Label;
use crate::evaluate::Run;
use crate::events::Channel;
use crate::report::Section;
use crate::stats::Plan;
use population::Populations;

/// How files of agent runs are named, as README.md of the data has it; variants have more behind it.
pub(crate) const AGENT_RUNS: &str = "trajectories";

/// How files of conversations are named.
const CONVERSATIONS: &str = "conversations";

/// The set that the goals are for.
const GOALS_OF: &str = "agentdyn";

/// The population of its runs whose injection stands in no part that is less held out, which a trained detector may have seen.
fn strict_name() -> String {
    format!("{GOALS_OF}, injections held out")
}

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct Input<'i> {
    /// The judged runs; conversations among them are passed over.
    pub runs: &'i [Run],
    /// Honest results to compare tool results with.
    pub references: &'i References,
    /// The detector that gave [`crate::evaluate::Scored::score`].
    pub record: &'i Detector<'i>,
    /// The one that gave `unseen`, where there is one.
    pub unseen: Option<&'i Detector<'i>>,
    /// How intervals are drawn.
    pub plan: Plan,
}

/// A detector with what it makes of the runs.
struct Lens<'i> {
    name: &'static str,
    which: Which,
    detector: &'i Detector<'i>,
    found: Populations<'i>,
}

/// Whether a run is an agent's: by its file's name or a label that only agents' runs have, or since tools answer in it and its file is not one of
/// conversations.
fn is_agent_run(run: &Run) -> bool {
    let tools = || run.events.iter().any(|event| event.channel == Channel::ToolResult);
    let labelled = matches!(run.label, Label::AttackSuccess | Label::AttackFailed);
    run.file.starts_with(AGENT_RUNS) || labelled || (!run.file.starts_with(CONVERSATIONS) && tools())
}

/// What can be said of the agent runs; empty where there are none of both kinds.
pub fn sections(input: Input<'_>) -> Vec<Section> {
    let lens =
        |name, which, detector| Lens { name, which, detector, found: Populations::new(input.runs, which, input.references, input.plan) };
    let mut lenses = vec![lens("detector of record", Which::Record, input.record)];
    lenses.extend(input.unseen.map(|detector| lens("wrapper unseen", Which::Unseen, detector)));
    lenses.retain(|lens| !lens.found.list.is_empty());
    if lenses.is_empty() {
        return Vec::new();
    }
    vec![compare::section(&lenses, input), sweep::section(&lenses, input.plan), pictures::section(&lenses)]
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::data::Split;
    use crate::evaluate::{Outcome, Scored};
    use crate::events;
    use crate::report::{Block, Table};
    use floodmark_tables::DETECTOR;

    /// Three tasks of agentdyn. Peaks: attacked .9, .8, .3, benign .4, .2, .1: 8 of 9 pairs. The other detector scores attacked runs .5 and benign
    /// ones .4, .5, .6: 4.5 of 9.
    fn three_tasks() -> Vec<Run> {
        let mut runs = Vec::new();
        for (task, attack, score, unseen) in [
            ("a", true, 0.9, 0.5),
            ("b", true, 0.8, 0.5),
            ("c", true, 0.3, 0.5),
            ("a", false, 0.4, 0.4),
            ("b", false, 0.2, 0.5),
            ("c", false, 0.1, 0.6),
        ] {
            let mut one = run(task, attack, &[(Channel::ToolResult, score), (Channel::ToolCall, 0.0)]);
            one.events[0].unseen = Some(unseen);
            one.events[1].unseen = Some(0.0);
            runs.push(Run { set: "agentdyn".to_owned(), task: task.to_owned(), ..one });
        }
        runs
    }

    fn tables(sections: &[Section]) -> BTreeMap<&'static str, &Table> {
        let tables = sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
            Block::Table(table) => Some((table.id, table)),
            _ => None,
        });
        tables.collect()
    }

    #[test]
    fn agents_runs_are_known() {
        let named = |file: &str, attack, channel| Run { file: file.to_owned(), ..run("r", attack, &[(channel, 0.5)]) };
        for (expected, file, attack, channel) in [
            (true, "trajectories_defended", false, Channel::User),
            (true, "mine", false, Channel::ToolResult),
            (true, "mine", true, Channel::User),
            (false, "mine", false, Channel::User),
            (false, "conversations", false, Channel::ToolResult),
        ] {
            assert_eq!(is_agent_run(&named(file, attack, channel)), expected, "{file} {attack} {channel:?}");
        }
    }

    #[test]
    fn sections_compare_both_detectors() {
        let runs = three_tasks();
        let references = References::of_runs(&runs);
        let plan = Plan { draws: 200, seed: 1 };
        let found = sections(Input { runs: &runs, references: &references, record: &DETECTOR, unseen: Some(&DETECTOR), plan });
        assert_eq!(found.iter().map(|section| section.id).collect::<Vec<_>>(), ["trajectories", "drift", "trajectory-pictures"]);
        let tables = tables(&found);
        let shown = |id: &str, row: usize| tables[id].rows[row].iter().map(|cell| cell.shown()).collect::<Vec<_>>();
        let starts = |cells: &[String], expected: [&str; 6]| cells.iter().zip(expected).all(|(cell, start)| cell.starts_with(start));
        // Part of the runs is test and none is train: there is nothing to be rare among, and all rarities are alike.
        for (row, expected) in [
            ["detector of record", "agentdyn", "peak", "0.889", "0.99", "missed"],
            ["detector of record", "agentdyn", "rarity peak", "0.500", "0.99", "missed"],
            ["detector of record", "agentdyn", "event count alone", "0.500", "", ""],
            // Without the events that hold the attack nothing is left of the attacked runs; benign ones keep theirs, which are no rarer.
            ["detector of record", "agentdyn", "control: rarity of the rest", "0.500", "", ""],
            ["wrapper unseen", "agentdyn", "peak", "0.500", "0.80", "missed"],
        ]
        .into_iter()
        .enumerate()
        {
            let cells = shown("trajectory-goals", row);
            assert!(starts(&cells, expected), "{cells:?} is not {expected:?}");
        }
        // The foil has every event: attacked .9 .8 .3 and benign .4 .2 .1, three calls of 0 each. 8 of 9, 9 of 9 over the calls, none under, 4.5 of
        // 9 level.
        assert!(shown("trajectory-auc", 0)[1].starts_with("0.597"), "{:?}", shown("trajectory-auc", 0));
        assert_eq!(shown("trajectory-auc", 1).last().map(String::as_str), Some(".828 [.692, .947]"), "the paper's beside ours");
        assert_eq!(shown("trajectory-within-tasks", 0)[2], "1.000");
        // 11 drifts, the one that is baked in, the median and the count; at .5 only .9 and .8 are over.
        assert_eq!(tables["drift-sweep"].rows.len(), 14);
        assert!(shown("drift-sweep", 10)[1].starts_with("0.833"), "{:?}", shown("drift-sweep", 10));
        assert!(sections(Input { runs: &runs[..3], references: &references, record: &DETECTOR, unseen: None, plan }).is_empty());
    }

    /// A run of set `set` and task `task` with these events.
    pub fn run(id: &str, attack: bool, events: &[(Channel, f64)]) -> Run {
        let label = if attack { events::Label::Attack } else { events::Label::Benign };
        let event = |&(channel, score)| Scored { channel, label, score, unseen: None, session: None, tool: None };
        Run {
            set: "set".to_owned(),
            file: AGENT_RUNS.to_owned(),
            id: id.to_owned(),
            source: "hand".to_owned(),
            label: if attack { Label::AttackSuccess } else { Label::Benign },
            template: None,
            met: attack,
            split: Split::Test,
            strict: true,
            unit: format!("unit {id}"),
            task: "task".to_owned(),
            turns: events.len(),
            events: events.iter().map(event).collect(),
            outcome: Outcome::default(),
        }
    }
}
