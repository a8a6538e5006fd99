//! The report's shape: how it was made, thresholds, the results beside their targets, and then the tables of [`super::sections`].

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Context as _;
use floodmark_core::Detector;

use super::conversations::Conversations;
use super::measure::{APART, Benchmark, Pool, Scored, is_single_attack, mean, share, shares};
use super::sections;
use super::targets::{self, emphasised};

use crate::data::Split;
use crate::events::{Channel, Event, Label};
use crate::markdown::{self, Origin, cell, percent, row, table};
use crate::report::Goal;
use crate::stats::{Share, Threshold};

/// The nominal shares.
const PERCENT: f64 = 0.01;
const PER_MILLE: f64 = 0.001;
/// The set whose sources the references count.
const INJECTIONS: &str = "injection_events";
/// The template of AgentDyn's runs that targets are set for.
const WRAPPER: &str = "important_instructions";

/// False-positive traps and other benign sources: name, set, source, and what it is to be.
const TRAPS: [(&str, &str, &str, Option<Goal>); 10] = [
    ("NotInject", INJECTIONS, "notinject", Some(targets::TRAPS)),
    ("role play", INJECTIONS, "gpteacher_roleplay", Some(targets::TRAPS)),
    ("memory facts", "memory_events", "persistbench", Some(targets::TRAPS)),
    ("security talk", INJECTIONS, "purplellama_frr", Some(targets::TRAPS)),
    ("clean BIPIA contexts", APART, "bipia", Some(targets::CLEAN_CONTEXTS)),
    ("hard prompts (WildGuard)", INJECTIONS, "wildguard_benign", None),
    ("users' prompts (Arena)", INJECTIONS, "arena_hard", None),
    ("mails", INJECTIONS, "llmail_benign_emails", None),
    ("banking documents", INJECTIONS, "tau2_banking_documents", None),
    ("coding agents' files", INJECTIONS, "ipi_coding_agent", None),
];

/// A group's share and what it is to be.
pub(super) struct Trap {
    pub name: &'static str,
    pub goal: Option<Goal>,
    pub share: Share,
}

/// Outputs of the tools of one benchmark, at a threshold of their own.
pub(super) struct Outputs {
    pub benchmark: Benchmark,
    pub threshold: Threshold,
    /// Clean ones of the part that is measured.
    pub clean: Share,
    /// Injected ones by template, and whether all of their parts are held out.
    pub templates: BTreeMap<(String, bool), Share>,
}

impl Outputs {
    /// All injected outputs of a template.
    pub fn template(&self, name: &str) -> Share {
        let mut all = Share::default();
        self.templates.iter().filter(|((template, _), _)| template == name).for_each(|(_, share)| all.add(share));
        all
    }

    /// Measures the outputs of each benchmark that has clean ones in dev.
    pub fn of(scored: &[Scored<'_>], split: Split) -> Vec<Self> {
        let of = |benchmark| {
            let pool = Pool::Outputs(benchmark);
            let threshold = pool.threshold(scored, PERCENT)?;
            let clean = share(pool.benign(scored, split), &threshold);
            let injected = |one: &&Scored<'_>| pool.holds(one.event) && one.event.split == split && one.event.label == Label::Attack;
            let templates = shares(scored.iter().filter(injected), &threshold, |event| (event.kind.clone(), event.strict));
            Some(Outputs { benchmark, threshold, clean, templates })
        };
        Benchmark::ALL.into_iter().filter_map(of).collect()
    }
}

/// What was measured of single events.
pub(super) struct Measured<'s> {
    pub scored: &'s [Scored<'s>],
    pub split: Split,
    /// Fixed on benign single texts.
    pub single: [Threshold; 2],
    /// Fixed on all benign events.
    pub all: [Threshold; 2],
    /// Single-text attacks by set and source, at each nominal share; BIPIA apart.
    pub sources: [BTreeMap<(String, String), Share>; 2],
    pub traps: Vec<Trap>,
    pub outputs: Vec<Outputs>,
    /// The same with a model that was never trained on the family.
    pub unseen: Option<Vec<Outputs>>,
}

impl<'s> Measured<'s> {
    pub fn new(scored: &'s [Scored<'s>], split: Split) -> anyhow::Result<Self> {
        let fix = |pool: Pool| {
            let both = [pool.threshold(scored, PERCENT), pool.threshold(scored, PER_MILLE)];
            let [Some(percent), Some(per_mille)] = both else { return None };
            Some([percent, per_mille])
        };
        let single = fix(Pool::Single).context("the data holds no benign single texts in dev, which thresholds are fixed on")?;
        let all = fix(Pool::All).context("the data holds no benign events in dev")?;
        let attacks = |threshold| {
            let attacks = scored.iter().filter(|one| one.event.split == split && is_single_attack(one.event));
            shares(attacks, threshold, |event| (event.set.clone(), event.source.clone()))
        };
        let trap = |(name, set, source, goal)| {
            let of = |event: &Event| event.set == set && event.source == source;
            let share = share(Pool::Single.benign(scored, split).filter(|one| of(one.event)), &single[0]);
            Trap { name, goal, share }
        };
        Ok(Measured {
            scored,
            split,
            sources: [attacks(&single[0]), attacks(&single[1])],
            traps: TRAPS.into_iter().map(trap).collect(),
            outputs: Outputs::of(scored, split),
            unseen: None,
            single,
            all,
        })
    }

    /// The benign events of a pool that reach a threshold, in the part that is measured.
    pub fn false_positives(&self, pool: Pool, threshold: &Threshold) -> Share {
        share(pool.benign(self.scored, self.split), threshold)
    }

    /// Recall over all single-text attacks alike.
    pub fn pooled(&self, nominal: usize) -> Share {
        let mut all = Share::default();
        self.sources.get(nominal).into_iter().flat_map(BTreeMap::values).for_each(|share| all.add(share));
        all
    }

    /// Injected events of a part that are no single texts and no benchmark's.
    pub fn other_injected(&self) -> impl Iterator<Item = &Scored<'s>> {
        let other = |event: &Event| {
            event.label == Label::Attack && !event.single && !(event.channel == Channel::ToolResult && Benchmark::of(&event.set).is_some())
        };
        self.scored.iter().filter(move |one| one.event.split == self.split && other(one.event))
    }
}

/// Everything that the report says.
pub(super) struct Report<'r> {
    pub command: String,
    pub detector: &'r Detector<'r>,
    /// Version of the model that was never trained on the family.
    pub unseen_version: Option<&'r str>,
    pub measured: Measured<'r>,
    pub conversations: &'r Conversations,
    pub origins: &'r [Origin],
}

impl Report<'_> {
    /// The whole report.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        self.head(&mut text);
        self.summary(&mut text);
        sections::write(&mut text, &self.measured, self.conversations);
        markdown::data(&mut text, self.origins);
        text
    }

    fn head(&self, text: &mut String) {
        let Measured { single, all, split, .. } = &self.measured;
        let levels = &self.detector.levels;
        let members: Vec<&str> = self.detector.members.iter().map(|member| member.name).collect();
        let _ = write!(
            text,
            "# The detector of record\n\nWritten by this command; do not edit.\n\n```sh\n{}\n```\n\n\
             Detector {} (members: {}), measured on the part `{}`. Its levels: tau {}, blocking event {}, drift {}, alarm {}. An event is one user message, tool result, or tool call \
             (eval/src/events says which are attacks); its score is the highest over its folded text and what is decoded of it, as in judging. In each part a text counts once a unit. A \
             cell holds the number of events, their share and its 95 % interval, exact (Clopper and Pearson) at the effective number of independent events (Kish: what the \
             events are worth if those of one unit are all alike).\n\n## Thresholds\n\n\
             The smallest value that at most the nominal share of the benign events of dev reaches. *Single texts*: all benign records of dev that are one text (the sets \
             injection_events, memory_events and bipia). *All events*: these, and each user message, tool result and tool call of dev's benign conversations and runs, and of \
             attacked runs before they met their attack.\n\n",
            self.command,
            self.detector.version,
            members.join(", "),
            split.name(),
            levels.tau_event,
            levels.event_block,
            levels.drift,
            levels.alarm,
        );
        table(text, &["fixed on", "nominal", "benign events of dev", "reach it", "threshold"]);
        for (name, thresholds) in [("single texts", single), ("all events", all)] {
            for found in thresholds {
                threshold_row(text, name, found);
            }
        }
        for outputs in &self.measured.outputs {
            threshold_row(text, &format!("clean tool results of {}", outputs.benchmark.name()), &outputs.threshold);
        }
    }

    fn summary(&self, text: &mut String) {
        text.push_str(
            "\n## Targets\n\nThresholds on single texts where nothing else is said. *Others* are the issue's references on the same records: recall in percent. BIPIA's attacks are \
             counted apart, below.\n\n",
        );
        table(text, &["what", "measured", "target", "result", "others"]);
        let measured = &self.measured;
        let sources = &measured.sources[0];
        let mut line = |what: &str, value: Option<f64>, shown: String, goal: Goal, others: &str| {
            row(text, &[what, &shown, &goal.to_string(), emphasised(goal.verdict(value)), others]);
        };
        let means = [("all sources of single texts", ""), ("the sources of injection_events alone", INJECTIONS)];
        for (name, set) in means {
            let of = sources.iter().filter(|((of, _), _)| set.is_empty() || of == set).map(|(_, share)| share);
            let value = mean(of.clone());
            let shown = value.map_or_else(|| "-".to_owned(), |value| format!("{} over {} sources", percent(value), of.count()));
            line(&format!("mean recall at 1 %, {name}"), value, shown, targets::MEAN_RECALL, targets::MEAN_RECALL_OF_OTHERS);
        }
        let pooled = measured.pooled(1);
        line("pooled recall at .1 %", pooled.value(), cell(&pooled), targets::POOLED_RECALL, targets::POOLED_RECALL_OF_OTHERS);
        for (name, pool, thresholds) in [("single texts", Pool::Single, &measured.single), ("all events", Pool::All, &measured.all)] {
            for threshold in thresholds {
                let share = measured.false_positives(pool, threshold);
                let what = format!("false positives, {name} at their {}", percent(threshold.nominal));
                line(&what, share.value(), cell(&share), targets::measured(threshold.nominal), "");
            }
        }
        for Trap { name, goal, share } in &measured.traps {
            if let Some(goal) = goal {
                line(&format!("false positives at 1 %, {name}"), share.value(), cell(share), *goal, "");
            }
        }
        let wrapped = |outputs: &[Outputs]| {
            let of = outputs.iter().find(|outputs| outputs.benchmark == Benchmark::AgentDyn);
            of.map(|of| of.template(WRAPPER)).unwrap_or_default()
        };
        let seen = wrapped(&measured.outputs);
        line("injected outputs of AgentDyn, family trained on", seen.value(), cell(&seen), targets::SEEN_FAMILY, "");
        if let (Some(unseen), Some(version)) = (&measured.unseen, self.unseen_version) {
            let share = wrapped(unseen);
            let what = format!("injected outputs of AgentDyn, family never trained on (model {version})");
            line(&what, share.value(), cell(&share), targets::UNSEEN_FAMILY, targets::UNSEEN_FAMILY_OF_OTHERS);
        }
        let mut splits = vec![Split::Dev, measured.split];
        splits.dedup();
        for split in splits {
            let bands = self.conversations.by(|group| group.template.is_none() && group.split == split, |group| group.band);
            let worst = bands
                .iter()
                .max_by(|(_, one), (_, other)| one.any.value().partial_cmp(&other.any.value()).unwrap_or(std::cmp::Ordering::Equal));
            let what = format!("benign conversations of {} that the detector blocks, worst length", split.name());
            let shown =
                worst.map_or_else(|| "-".to_owned(), |(band, alarms)| format!("{}: {}", sections::band_name(band), cell(&alarms.any)));
            line(&what, worst.and_then(|(_, alarms)| alarms.any.value()), shown, targets::CONVERSATIONS, "");
        }
    }
}

fn threshold_row(text: &mut String, name: &str, found: &Threshold) {
    row(
        text,
        &[name.to_owned(), percent(found.nominal), found.scores.to_string(), found.reached.to_string(), format!("{:.6}", found.value)],
    );
}
