//! How rare a tool result's score is among honest results of the same tool.
//!
//! Tools differ more than runs do: honest mailboxes of one benchmark score higher than injected pages of another. A rarity compares a result with
//! its own tool only.
//!
//! ```text
//! P(s)       = (honest scores of all sites >= s, and 1)              / (their number, and 1)
//! P(b, s)    = (those of the site b >= s, and P(s))                  / (their number, and 1)
//! P(b, t, s) = (those of its tool t >= s, and P(b, s))               / (their number, and 1)          rarity = -ln P(b, t, s)
//! ```
//!
//! Each level counts the one above as a single result: a tool that was never seen has its site's P, and there is no parameter to choose. A site is a
//! benchmark, since its
//! tools are its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::data::{DataFile, Label, OnBroken, Split, unit_of};
use crate::detector::Benchmark;
use crate::evaluate::ToolKey;
use crate::events::{Channel, Scorer, of_record};

/// Which detector a score is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The detector of record.
    Record,
    /// The one that was trained without the most common wrapper.
    Unseen,
}

/// A score's bits. From 0 up these are ordered as the numbers are.
type Bits = u64;

/// Scores of honest tool results in order: all, those of a site, and those of a tool there.
#[derive(Clone, Debug, Default, PartialEq)]
struct Scores {
    all: Vec<Bits>,
    sites: BTreeMap<String, Vec<Bits>>,
    tools: BTreeMap<(String, Option<ToolKey>), Vec<Bits>>,
}

/// What honest tool results score, for each detector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct References([Scores; 2]);

/// An honest result: its site, tool, task and score.
type HonestResult = (String, Option<ToolKey>, String, Bits);

/// Collects honest results; a score of a tool counts once a task, however often the task was run.
#[derive(Debug, Default)]
struct Honest([BTreeSet<HonestResult>; 2]);

impl Honest {
    fn take(&mut self, which: Which, site: &str, tool: Option<ToolKey>, task: &str, score: f64) {
        self.0[which as usize].insert((site.to_owned(), tool, task.to_owned(), score.max(0.0).to_bits()));
    }

    fn finish(self) -> References {
        References(self.0.map(|results| {
            let mut scores = Scores::default();
            for (site, tool, _, bits) in results {
                scores.all.push(bits);
                scores.sites.entry(site.clone()).or_default().push(bits);
                scores.tools.entry((site, tool)).or_default().push(bits);
            }
            scores.all.sort_unstable();
            scores.sites.values_mut().chain(scores.tools.values_mut()).for_each(|list| list.sort_unstable());
            scores
        }))
    }
}

/// The site that a set's tools belong to.
pub fn site(set: &str) -> &str {
    Benchmark::of(set).map_or(set, |benchmark| benchmark.name())
}

impl References {
    /// From the benign agent runs of part `train`, read and scored.
    ///
    /// # Errors
    /// When a file cannot be read, which names the line.
    pub fn read(
        files: &[DataFile],
        on_broken: OnBroken,
        record: &mut Scorer<'_>,
        mut unseen: Option<&mut Scorer<'_>>,
    ) -> anyhow::Result<Self> {
        let mut honest = Honest::default();
        for file in files.iter().filter(|file| !file.stem().starts_with(super::CONVERSATIONS)) {
            file.read(on_broken, |one| {
                if one.label != Label::Benign || one.split != Split::Train || one.text.is_some() {
                    return Ok(());
                }
                let task = unit_of(&file.set, one, false);
                for event in of_record(&file.set, one)?.iter().filter(|event| event.channel == Channel::ToolResult) {
                    let tool = event.tool.as_deref().map(ToolKey::of);
                    honest.take(Which::Record, site(&file.set), tool, &task, record.score(&event.text));
                    if let Some(unseen) = &mut unseen {
                        honest.take(Which::Unseen, site(&file.set), tool, &task, unseen.score(&event.text));
                    }
                }
                Ok(())
            })?;
        }
        Ok(honest.finish())
    }

    /// From runs that were judged; of these the benign agent runs of part `train` count.
    #[cfg(test)]
    pub(super) fn of_runs(runs: &[crate::evaluate::Run]) -> Self {
        let mut honest = Honest::default();
        for run in runs.iter().filter(|run| super::is_agent_run(run) && run.label == Label::Benign && run.split == Split::Train) {
            for event in run.events.iter().filter(|event| event.channel == Channel::ToolResult) {
                honest.take(Which::Record, site(&run.set), event.tool, &run.task, event.score);
                if let Some(unseen) = event.unseen {
                    honest.take(Which::Unseen, site(&run.set), event.tool, &run.task, unseen);
                }
            }
        }
        honest.finish()
    }

    /// Number of honest results, and of tools.
    pub fn size(&self, which: Which) -> [usize; 2] {
        let scores = &self.0[which as usize];
        [scores.all.len(), scores.tools.len()]
    }

    /// The rarity of a result, from 0 up.
    pub fn rarity(&self, which: Which, set: &str, tool: Option<ToolKey>, score: f64) -> f64 {
        let (scores, site) = (&self.0[which as usize], site(set));
        let all = share(&scores.all, score, 1.0);
        let here = share(scores.sites.get(site).map_or(&[], Vec::as_slice), score, all);
        let tools = scores.tools.get(&(site.to_owned(), tool)).map_or(&[][..], Vec::as_slice);
        -libm::log(share(tools, score, here))
    }
}

/// The share of sorted scores that are as high, with one more result of which so much is.
fn share(sorted: &[Bits], score: f64, more: f64) -> f64 {
    let below = sorted.partition_point(|&bits| bits < score.max(0.0).to_bits());
    ((sorted.len() - below) as f64 + more) / (sorted.len() as f64 + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, share: f64) {
        assert!((libm::exp(-found) - share).abs() < 1e-12, "{} is not {share}", libm::exp(-found));
    }

    /// A site with two tools and another with one, counted by hand.
    #[test]
    fn a_result_is_compared_with_its_own_tool() {
        let (mail, page) = (Some(ToolKey::of("mail")), Some(ToolKey::of("page")));
        let mut honest = Honest::default();
        for (site, tool, task, score) in [
            ("a", mail, "t1", 0.9),
            ("a", mail, "t1", 0.9),
            ("a", mail, "t2", 0.9),
            ("a", mail, "t2", 0.95),
            ("a", page, "t1", 0.1),
            ("b", page, "t1", 0.2),
        ] {
            honest.take(Which::Record, site, tool, task, score);
        }
        let references = honest.finish();
        assert_eq!((references.size(Which::Record), references.size(Which::Unseen)), ([5, 3], [0, 0]));
        let rarity = |set, tool, score| references.rarity(Which::Record, set, tool, score);
        // .92: of all 5 one is as high, P = 2/6; of the site's 4 one, (1 + 1/3) / 5; of the mails' 3 one, (1 + 4/15) / 4.
        close(rarity("a", mail, 0.92), 19.0 / 60.0);
        // The same score is rarer for a page: (0 + 4/15) / 2.
        close(rarity("a", page, 0.92), 2.0 / 15.0);
        // A tool that was never seen has its site's, a site that was never seen what holds of all; ties count as high.
        close(rarity("a", None, 0.95), (1.0 + 1.0 / 3.0) / 5.0);
        close(rarity("c", mail, 0.95), 1.0 / 3.0);
        close(rarity("b", page, 0.0), 1.0);
        assert_eq!(references.rarity(Which::Unseen, "a", mail, 0.9), 0.0, "nothing to compare with");
    }

    #[test]
    fn sets_of_one_benchmark_share_their_tools() {
        assert_eq!([site("agentdojo_gt"), site("agentdojo_drift"), site("mine")], ["AgentDojo", "AgentDojo", "mine"]);
    }
}
