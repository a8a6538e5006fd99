//! What has to be known of public sets before a number on them is believed.

use std::collections::BTreeSet;

use crate::report::{Origin, Section, Table};

/// Folders of sets, and what to know of them; the sets' own READMEs say more.
const REMARKS: [(&str, &str); 9] = [
    (
        "agentdyn",
        "60 tasks in three suites, run many times; nearly all attacks use one wrapper, so recall on it says nothing of others. The runs' tools show the same documents in train and test tasks.",
    ),
    ("agentdojo_gt", "Ideal call sequences without a model: no hesitation, retries or refusals."),
    (
        "asb_drift",
        "The tool's observation stands in the assistant's text, where a gateway sees no tool result: the injection is in no scored turn, where it can flag but never block.",
    ),
    (
        "bipia",
        "Many injections are harmless questions in the wrong place, without any wording of an attack; a detector of texts should miss most.",
    ),
    ("goal_drift_agents", "One single attack sentence in every tool result after the onset; its wording is caught or missed as a whole."),
    (
        "hh_redteam_dialogues",
        "Requests for harmful content, no injections, and many of the dialogues were judged harmless: out of this project's scope, kept to show that it is.",
    ),
    ("memory_poisoning", "One scenario, the same four user messages in every run, few distinct documents."),
    (
        "multi_turn_attacks",
        "Requests for harmful content over several turns, no injections; their shape is the multi-turn shape, their words are not ours to find.",
    ),
    ("sgd", "Honest dialogues of few domains with many templates: units are what they share."),
];

/// The section; `None` where the data hold none of these sets.
pub(super) fn section(origins: &[Origin]) -> Option<Section> {
    let sets: BTreeSet<&str> =
        origins.iter().filter(|origin| origin.is_public()).filter_map(|origin| origin.file.split('/').next()).collect();
    let mut table = Table::new("remarks", "Before a number is believed.", &["set", "what it is"]);
    for (set, remark) in REMARKS.iter().filter(|(set, _)| sets.contains(set)) {
        table.row([(*set).into(), (*remark).into()]);
    }
    let mut section = Section::new("remarks", "What the sets are");
    (!table.rows.is_empty()).then(|| {
        section.table(table);
        section
    })
}
