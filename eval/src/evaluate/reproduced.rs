//! What of the four papers stands in this report, what only in its design, and what not, with the reason.

use crate::report::{Origin, Section, Table};

/// Paper, analysis, what stands here, and why not more.
const ANALYSES: [[&str; 4]; 13] = [
    ["A", "worked examples, theorem 1", "reproduced", ""],
    ["A", "five handcrafted attacks that the average lets pass", "three of five", "The notes that this project quotes from name three."],
    [
        "A",
        "sweep of rho",
        "the design, on other data",
        "Attacks assembled from WildJailbreak and the WildChat conversations could not be had here, and attacks chosen with our own patterns would measure the choice.",
    ],
    [
        "A",
        "tables 3 and 4",
        "not reproduced",
        "The same; the paper's figures stand beside ours, which are of held-out texts that nobody chose by patterns.",
    ],
    ["A", "weighted average as a baseline", "the design, on other data", ""],
    [
        "B",
        "foil, peak, persistence, frac_over_tau and their gaps",
        "the design, on other data",
        "The foundation cohort is not published with the data that may be used; the arithmetic is held by the oracle's cases (testdata/vectors/trajectory.json).",
    ],
    [
        "B",
        "retired distance member, contrastive member",
        "not reproduced",
        "They rest on an encoder that this machine cannot download; a contrastive member is planned.",
    ],
    [
        "B",
        "grafts: delta endpoint, native counterfactual, gates, drift sweep, productive band",
        "the design, on carriers of AgentDyn",
        "The git and broadened rosters are not published. No agent is run again: the directive floor stands in for what an agent would do.",
    ],
    ["B", "exact floor 1/C(n, k)", "reproduced", ""],
    ["B", "ladder of trust: exercised and dark paths", "in `eval verify` (docs/eval/receipts.md)", ""],
    [
        "C",
        "tool-call features, rule, logistic regression, forests",
        "not in this version",
        "Features and models of tool calls are a later milestone; 446 distinct runs of the paper's 2,520 are in the data.",
    ],
    ["D", "carry-over gate: five rounds, latent and autonomous payloads", "not in this version", "Lineage is a later milestone."],
    ["D", "Task-Tampering benchmark", "not reproduced", "It runs agents with models, which cannot be had here."],
];

/// The section; `None` where the data hold no public set that the papers' analyses are taken on.
pub(super) fn section(origins: &[Origin]) -> Option<Section> {
    let public = origins.iter().any(|origin| origin.file.starts_with("agentdyn/") && origin.is_public());
    let columns = ["paper", "analysis", "here", "why not more"];
    let caption = "A: Peak + Accumulation (arXiv 2602.11247). B: Amplify, Don't Create. C: Forensic trajectory signatures (arXiv 2606.30566). D: The gate that stops an \
                   agent's memory from re-firing an attack.";
    let mut table = Table::new("reproduced", caption, &columns);
    for analysis in ANALYSES {
        table.row(analysis.map(Into::into));
    }
    let mut section = Section::new("reproduced", "What of the papers could be reproduced");
    section.table(table);
    public.then_some(section)
}
