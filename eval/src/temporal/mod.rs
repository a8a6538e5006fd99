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
use crate::report::Section;
use crate::stats::Plan;
use population::Populations;

/// How files of agent runs are named, as README.md of the data has it; variants have more behind it.
pub(crate) const AGENT_RUNS: &str = "trajectories";

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

/// Whether a run is an agent's, by its file's name or by a label that only agents' runs have.
fn is_agent_run(run: &Run) -> bool {
    run.file.starts_with(AGENT_RUNS) || matches!(run.label, Label::AttackSuccess | Label::AttackFailed)
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
    use super::*;
    use crate::data::Split;
    use crate::evaluate::{Outcome, Scored};
    use crate::events::{self, Channel};

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
            unit: format!("unit {id}"),
            task: "task".to_owned(),
            turns: events.len(),
            user_turns: 0,
            events: events.iter().map(event).collect(),
            outcome: Outcome::default(),
        }
    }
}
