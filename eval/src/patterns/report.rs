//! The report as Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::tally::{Tallies, Tally};
use crate::markdown::{Origin, cell, cell_text, data, table};
use crate::stats::Share;

/// Patterns listed by their false hits.
const WORST_SHOWN: usize = 20;

/// What was measured, and how.
pub(super) struct Head<'a> {
    pub title: &'a str,
    pub command: String,
    pub profile: String,
    pub tau: f64,
    pub patterns: usize,
    pub fingerprint: &'static str,
}

/// The whole report.
pub(super) fn markdown(head: &Head<'_>, origins: &[Origin], tallies: &Tallies) -> String {
    let mut text = String::new();
    let mut line = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    line(&format!("# {}", head.title));
    line("");
    line("Written by this command; do not edit.");
    line("");
    line("```sh");
    line(&head.command);
    line("```");
    line("");
    line(&format!(
        "{} patterns (tables {}), profile `{}`, tau {}. A cell holds the number of records, their share and its 95 % interval. The interval is exact (Clopper \
         and Pearson) at the effective number of independent records (Kish: what the records are worth if those of one unit are all alike), \
         since sets repeat few tasks many times. *Hit*: some pattern was found, in any message. *Flagged*: a verdict above `allow`, for whatever reason. A \
         conversation counts as blocked when any of its requests is, each judged with the history up to there, as a gateway sees it.",
        head.patterns, head.fingerprint, head.profile, head.tau
    ));
    line("");
    line("## Honest conversations and agent runs");
    line("");
    line("`by patterns` leaves the check for repeated requests out; `in all` is everything.");
    line("");
    table(
        &mut text,
        &[
            "set",
            "conversations",
            "hit",
            "flagged",
            "blocked by patterns",
            "blocked in all",
            "units",
            "units hit",
            "units blocked by patterns",
        ],
    );
    for (set, tally) in &tallies.benign_conversations {
        row(
            &mut text,
            &[set.clone(), tally.hit.records().to_string()],
            tally,
            &[&tally.hit, &tally.flagged, &tally.blocked_by_patterns, &tally.blocked],
        );
    }
    text.push_str("\n## Honest texts\n\nSingle texts: hit when judged alone or behind a user's question; blocked behind the question.\n\n");
    table(&mut text, &["set", "source", "texts", "hit", "flagged", "blocked", "units", "units hit", "units blocked"]);
    for ((set, source), tally) in &tallies.benign_texts {
        row(
            &mut text,
            &[set.clone(), source.clone(), tally.hit.records().to_string()],
            tally,
            &[&tally.hit, &tally.flagged, &tally.blocked_by_patterns],
        );
    }
    false_hits(&mut text, tallies);
    text.push_str("\n## Attack texts\n\nSingle texts, as above.\n\n");
    attacks(&mut text, "texts", &tallies.attack_texts);
    text.push_str("\n## Attack conversations and agent runs\n\n");
    text.push_str("Runs that never met their attack are left out");
    let left_out: Vec<String> = tallies.never_met.iter().map(|(set, number)| format!("{number} of {set}")).collect();
    text.push_str(&if left_out.is_empty() { ".\n\n".to_owned() } else { format!(": {}.\n\n", left_out.join(", ")) });
    attacks(&mut text, "conversations", &tallies.attack_conversations);
    data(&mut text, origins);
    text
}

/// A group of rows for each set: all its templates, then each.
fn attacks(text: &mut String, records: &str, tallies: &BTreeMap<(String, String), Tally>) {
    table(text, &["set", "template", records, "hit", "flagged", "blocked by patterns", "units", "units hit", "units blocked by patterns"]);
    let mut sets: BTreeMap<&str, Vec<(&str, &Tally)>> = BTreeMap::new();
    for ((set, template), tally) in tallies {
        sets.entry(set).or_default().push((template, tally));
    }
    for (set, templates) in sets {
        let mut all = Tally::default();
        templates.iter().for_each(|(_, tally)| all.add(tally));
        let rows = std::iter::once(("*all*", &all)).chain(templates.iter().copied().filter(|_| templates.len() > 1));
        for (template, tally) in rows {
            row(
                text,
                &[set.to_owned(), template.to_owned(), tally.hit.records().to_string()],
                tally,
                &[&tally.hit, &tally.flagged, &tally.blocked_by_patterns],
            );
        }
    }
}

fn false_hits(text: &mut String, tallies: &Tallies) {
    let _ = write!(text, "\n## Patterns with the most false hits\n\nAt most {WORST_SHOWN}, by units.\n\n");
    table(text, &["rule", "units", "conversations", "texts"]);
    let mut rules: Vec<_> = tallies.false_hits.iter().collect();
    rules.sort_by_key(|(rule, hits)| (std::cmp::Reverse(hits.units.len()), *rule));
    for (rule, hits) in rules.into_iter().take(WORST_SHOWN) {
        let _ = writeln!(text, "| {rule} | {} | {} | {} |", hits.units.len(), hits.conversations, hits.texts);
    }
}

fn row(text: &mut String, names: &[String], tally: &Tally, shares: &[&Share]) {
    let mut cells: Vec<String> = names.iter().map(|name| cell_text(name)).collect();
    cells.extend(shares.iter().map(|share| cell(share)));
    cells.extend([tally.hit.units().to_string(), tally.hit.hit_units().to_string(), tally.blocked_by_patterns.hit_units().to_string()]);
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}
