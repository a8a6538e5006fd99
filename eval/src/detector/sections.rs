//! The report's tables: recall, false positives, lengths, languages, tool outputs, conversations, and what was missed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::conversations::{Alarms, Conversations};
use super::measure::{APART, Pool, Scored, band, is_single_attack, quantile, share, shares};
use super::report::{Measured, Outputs};
use super::targets::emphasised;
use crate::data::Split;
use crate::events::{Event, Label};
use crate::markdown::{cell, cell_text, percent, row, table};
use crate::stats::Share;

/// Ids shown of each group of misses and false alarms.
const IDS_SHOWN: usize = 5;

pub(super) fn write(text: &mut String, measured: &Measured<'_>, conversations: &Conversations) {
    recall(text, measured);
    false_positives(text, measured);
    lengths(text, measured);
    languages(text, measured);
    outputs(text, measured);
    apart(text, measured);
    whole(text, measured.split, conversations);
    misses(text, measured, conversations);
}

fn recall(text: &mut String, measured: &Measured<'_>) {
    text.push_str("\n## Recall by source\n\nSingle-text attacks, thresholds on single texts.\n\n");
    table(text, &["set", "source", "texts", "units", "found at 1 %", "found at .1 %"]);
    let [percent, per_mille] = &measured.sources;
    for ((set, source), share) in percent {
        let less = per_mille.get(&(set.clone(), source.clone())).map(cell).unwrap_or_default();
        row(text, &[set.clone(), cell_text(source), share.records().to_string(), share.units().to_string(), cell(share), less]);
    }
    let (all, less) = (measured.pooled(0), measured.pooled(1));
    row(text, &["*all*".to_owned(), "*pooled*".to_owned(), all.records().to_string(), all.units().to_string(), cell(&all), cell(&less)]);
    text.push_str("\nInjected events of agent runs that are no results of AgentDyn's and AgentDojo's tools, thresholds on all events.\n\n");
    let key = |event: &Event| (event.set.clone(), event.kind.clone(), event.channel.name());
    let at = measured.all.map(|threshold| shares(measured.other_injected(), &threshold, key));
    table(text, &["set", "template", "channel", "events", "units", "found at 1 %", "found at .1 %"]);
    let [percent, per_mille] = &at;
    for (key, share) in percent {
        let less = per_mille.get(key).map(cell).unwrap_or_default();
        let (set, kind, channel) = key;
        row(text, &[set, &cell_text(kind), *channel, &share.records().to_string(), &share.units().to_string(), &cell(share), &less]);
    }
}

fn false_positives(text: &mut String, measured: &Measured<'_>) {
    text.push_str("\n## False positives\n\nBenign single texts, thresholds on single texts.\n\n");
    table(text, &["what", "texts", "units", "at 1 %", "target", "result"]);
    for trap in &measured.traps {
        let (goal, result) = trap.goal.map_or((String::new(), ""), |goal| (goal.to_string(), emphasised(goal.verdict(trap.share.value()))));
        row(text, &[trap.name, &trap.share.records().to_string(), &trap.share.units().to_string(), &cell(&trap.share), &goal, result]);
    }
    text.push_str("\nAll benign events, thresholds on all events.\n\n");
    table(text, &["set", "channel", "events", "units", "at 1 %", "at .1 %"]);
    let key = |event: &Event| (event.set.clone(), event.channel.name());
    let [percent, per_mille] = measured.all.map(|threshold| shares(Pool::All.benign(measured.scored, measured.split), &threshold, key));
    for (key, share) in &percent {
        let less = per_mille.get(key).map(cell).unwrap_or_default();
        row(text, &[&key.0, key.1, &share.records().to_string(), &share.units().to_string(), &cell(share), &less]);
    }
}

fn lengths(text: &mut String, measured: &Measured<'_>) {
    text.push_str(
        "\n## By length\n\nBytes of a text. Scores of benign ones must not rise with length: long texts are scored by their highest chunk. Single texts at their 1 %, all events at \
         theirs.\n\n",
    );
    table(
        text,
        &[
            "length",
            "benign single texts",
            "false positives",
            "median score",
            "99th percentile",
            "benign events",
            "false positives",
            "median score",
            "99th percentile",
            "attacks",
            "found",
        ],
    );
    let of = |pool: Pool| pool.benign(measured.scored, measured.split).collect::<Vec<_>>();
    let (single, all) = (of(Pool::Single), of(Pool::All));
    let attacks: Vec<&Scored<'_>> = attacks(measured).collect();
    let bands: BTreeSet<&str> = single.iter().chain(&all).chain(&attacks).map(|one| band(one.event)).collect();
    for name in bands {
        let mut cells = vec![band_name(name).to_owned()];
        for (scored, threshold) in [(within(&single, name), &measured.single[0]), (within(&all, name), &measured.all[0])] {
            let found = share(&scored, threshold);
            let scores: Vec<f64> = scored.iter().map(|one| one.score).collect();
            cells.extend([found.records().to_string(), cell(&found), score(quantile(scores.clone(), 0.5)), score(quantile(scores, 0.99))]);
        }
        let found = share(&within(&attacks, name), &measured.single[0]);
        cells.extend([found.records().to_string(), cell(&found)]);
        row(text, &cells);
    }
}

/// Those of a length.
fn within<'e>(scored: &[&Scored<'e>], name: &str) -> Vec<Scored<'e>> {
    scored.iter().filter(|one| band(one.event) == name).map(|one| **one).collect()
}

fn languages(text: &mut String, measured: &Measured<'_>) {
    text.push_str("\n## By language\n\nWhere a set names it. Attacks at 1 % of single texts, benign events at 1 % of all events.\n\n");
    table(text, &["language", "attacks", "found", "benign events", "false positives"]);
    let language = |event: &Event| event.lang.clone().unwrap_or_default();
    let found = shares(attacks(measured), &measured.single[0], language);
    let wrong = shares(Pool::All.benign(measured.scored, measured.split), &measured.all[0], language);
    let names: BTreeSet<&String> = found.keys().chain(wrong.keys()).filter(|name| !name.is_empty()).collect();
    let of = |shares: &BTreeMap<String, Share>, name: &String| shares.get(name).cloned().unwrap_or_default();
    for name in names {
        let (found, wrong) = (of(&found, name), of(&wrong, name));
        row(text, &[name, &found.records().to_string(), &cell(&found), &wrong.records().to_string(), &cell(&wrong)]);
    }
}

fn outputs(text: &mut String, measured: &Measured<'_>) {
    text.push_str(
        "\n## Injected tool outputs\n\nAt the threshold that 1 % of dev's clean tool results of the same suites reach. Units are what is injected. *Held out in all parts*: the user's \
         task and what is injected are both of this part; else one of them was in another.\n\n",
    );
    output_table(text, &measured.outputs);
    if let Some(unseen) = &measured.unseen {
        text.push_str("\nThe same with the model that was never trained on `important_instructions` and its kin.\n\n");
        output_table(text, unseen);
    }
}

fn output_table(text: &mut String, outputs: &[Outputs]) {
    table(text, &["benchmark", "template", "held out in all parts", "outputs", "units", "reach it"]);
    for Outputs { benchmark, clean, templates, .. } in outputs {
        let mut line = |template: &str, strict: &str, share: &Share| {
            row(
                text,
                &[benchmark.name(), &cell_text(template), strict, &share.records().to_string(), &share.units().to_string(), &cell(share)],
            );
        };
        line("*clean*", "", clean);
        for ((template, strict), share) in templates {
            line(template, if *strict { "yes" } else { "no" }, share);
        }
    }
}

fn apart(text: &mut String, measured: &Measured<'_>) {
    text.push_str(
        "\n## BIPIA\n\nMany of its attacks are harmless sentences in the wrong place, without any attack wording: a detector that sees the text alone should miss most of them. \
         Thresholds on single texts.\n\n",
    );
    table(text, &["threshold", "attacks", "units", "found", "held out in all parts", "found of these"]);
    for threshold in &measured.single {
        let attacks = |strict: bool| {
            let of = move |event: &Event| {
                event.set == APART && event.label == Label::Attack && event.split == measured.split && (event.strict || !strict)
            };
            share(measured.scored.iter().filter(|one| of(one.event)), threshold)
        };
        let (all, strict) = (attacks(false), attacks(true));
        let counts = [all.records().to_string(), all.units().to_string(), cell(&all), strict.records().to_string(), cell(&strict)];
        row(text, &[vec![percent(threshold.nominal)], counts.to_vec()].concat());
    }
}

fn whole(text: &mut String, split: Split, conversations: &Conversations) {
    let mut splits = vec![Split::Dev, split];
    splits.dedup();
    text.push_str(
        "\n## Conversations and agent runs\n\nThose in which some event reaches the blocking level, or persistence the alarm level, at the detector's own levels (the default policy, the \
         detector alone). Runs that never met their attack are left out; sessions of a run are chats of their own.\n\nHonest ones, by the number of events:\n\n",
    );
    table(text, &["part", "set", "events", "conversations", "units", "by an event", "by persistence", "by either"]);
    for split in &splits {
        let benign = |key: fn(&str) -> String| {
            conversations.by(|group| group.template.is_none() && group.split == *split, move |group| (key(&group.set), group.band))
        };
        for ((set, band), alarms) in benign(|_| "*all*".to_owned()).into_iter().chain(benign(str::to_owned)) {
            alarm_row(text, &[split.name(), &set, band_name(band)], &alarms);
        }
    }
    text.push_str("\nAttacked ones that met their attack, by template. Those of multi_turn_attacks and hh_redteam_dialogues want harmful content and are no injections.\n\n");
    table(text, &["part", "set", "template", "conversations", "units", "by an event", "by persistence", "by either"]);
    for split in splits {
        let of = conversations.by(
            |group| group.template.is_some() && group.split == split,
            |group| (group.set.clone(), group.template.clone().unwrap_or_default()),
        );
        for ((set, template), alarms) in of {
            alarm_row(text, &[split.name(), &set, &cell_text(&template)], &alarms);
        }
    }
}

fn alarm_row(text: &mut String, names: &[&str], alarms: &Alarms) {
    let Alarms { event, persistence, any } = alarms;
    let counts = [any.records().to_string(), any.units().to_string(), cell(event), cell(persistence), cell(any)];
    row(text, &names.iter().map(|name| (*name).to_owned()).chain(counts).collect::<Vec<_>>());
}

fn misses(text: &mut String, measured: &Measured<'_>, conversations: &Conversations) {
    let _ = write!(text, "\n## Misses\n\nIds of records, at most {IDS_SHOWN} a group.\n\n");
    table(text, &["what", "of", "number", "ids"]);
    let missed =
        measured.scored.iter().filter(|one| one.event.split == measured.split && one.event.label == Label::Attack && one.event.single);
    let missed = missed.filter(|one| !measured.single[0].reached_by(one.score));
    ids(text, "attack not found at 1 %", missed.map(|one| (format!("{}: {}", one.event.set, one.event.source), one.event.record.clone())));
    for outputs in &measured.outputs {
        let of = |one: &&Scored<'_>| {
            one.event.split == measured.split && one.event.label == Label::Attack && Pool::Outputs(outputs.benchmark).holds(one.event)
        };
        let missed = measured.scored.iter().filter(of).filter(|one| !outputs.threshold.reached_by(one.score));
        ids(
            text,
            "injected output not found at 1 %",
            missed.map(|one| (format!("{}: {}", outputs.benchmark.name(), one.event.kind), one.event.record.clone())),
        );
    }
    let wrong = Pool::Single.benign(measured.scored, measured.split).filter(|one| measured.single[0].reached_by(one.score));
    ids(text, "honest text over 1 %", wrong.map(|one| (format!("{}: {}", one.event.set, one.event.source), one.event.record.clone())));
    let alarms = conversations
        .false_alarms
        .iter()
        .flat_map(|((set, split), records)| records.iter().map(move |id| (format!("{set}, {}", split.name()), id.clone())));
    ids(text, "honest conversation that the detector blocks", alarms);
}

/// A row for each group.
fn ids(text: &mut String, what: &str, found: impl Iterator<Item = (String, String)>) {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (group, id) in found {
        groups.entry(group).or_default().push(id);
    }
    for (group, ids) in groups {
        let shown: Vec<String> = ids.iter().take(IDS_SHOWN).map(|id| format!("`{}`", cell_text(id))).collect();
        row(text, &[what, &cell_text(&group), &ids.len().to_string(), &shown.join(" ")]);
    }
}

/// Single-text attacks of the part that is measured, BIPIA's apart.
fn attacks<'m>(measured: &'m Measured<'_>) -> impl Iterator<Item = &'m Scored<'m>> {
    measured.scored.iter().filter(|one| one.event.split == measured.split && is_single_attack(one.event))
}

/// The name of a band without the number that sorts it.
pub(super) fn band_name(band: &str) -> &str {
    band.split_once(": ").map_or(band, |(_, name)| name)
}

fn score(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"))
}
