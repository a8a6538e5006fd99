//! Levels for trajectories from benign ones: the drift k, and the alarm level h for a stated share of false alarms (DESIGN.md 8).
//!
//! ```text
//! benign event scores -> drift (median, or a quantile) -> alarm (block bootstrap of persistence) -> Alarm { level, how often, how soon }
//! ```
//!
//! Only sums, products and comparisons are computed and the generator of draws is one of integers, so the same scores give the same levels on every
//! machine.

mod draws;
#[cfg(test)]
mod tests;

use anyhow::{Context as _, ensure};
use floodmark_core::trajectory::{Params, Trajectory};

use crate::events::accumulate;
use crate::stats::Share;
use draws::Draws;

/// Alarm levels are whole millionths, rounded up: readable in a table, and erring to fewer alarms.
const LEVELS_IN_ONE: f64 = 1e6;
const NOT_FINITE: &str = "a benign score or the drift is no finite number";
/// Draws that have to lie beyond the level, so that it does not hang on two or three of them.
const BEYOND_AT_LEAST: f64 = 20.0;

/// A benign agent run or conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Benign {
    /// Its independence unit, as `data::unit` gives it: runs of one task are one unit, whatever their number.
    pub unit: String,
    /// The scores of its events, by position.
    pub scores: Vec<f64>,
}

/// How the drift is found from the scores of benign events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drift {
    /// Their median, of an even number the mean of the middle two. Half of the benign events then push the CUSUM up.
    Median,
    /// Their quantile at a share from 0 to 1, between two scores in proportion; 0.6 to 0.75 trade delay for fewer alarms.
    Quantile(f64),
}

impl Drift {
    /// The drift of these trajectories. Every event counts alike, as in the paper.
    ///
    /// # Errors
    /// When there is no event, a score is no finite number, or the share is none.
    pub fn of(self, benign: &[Benign]) -> anyhow::Result<f64> {
        let mut scores: Vec<f64> = benign.iter().flat_map(|run| run.scores.iter().copied()).collect();
        ensure!(!scores.is_empty(), "no benign event to take a drift from");
        ensure!(scores.iter().all(|score| score.is_finite()), "a benign score is no finite number");
        scores.sort_by(f64::total_cmp);
        let last = scores.len() - 1;
        Ok(match self {
            Drift::Median => (scores[last / 2] + scores[last - last / 2]) / 2.0,
            Drift::Quantile(share) => {
                ensure!((0.0..=1.0).contains(&share), "a quantile is a share from 0 to 1, not {share}");
                let place = share * last as f64;
                let low = place.floor() as usize;
                let high = (low + 1).min(last);
                scores[low] + (place - low as f64) * (scores[high] - scores[low])
            }
        })
    }
}

/// Where the blocks of a drawn trajectory come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// All from one unit, and the length too: what raises scores in one task raises them from its first event to its last, and that is where false alarms
    /// come from.
    OfOneUnit,
    /// Each from a unit of its own: a session that goes from task to task.
    OfAllUnits,
}

/// How the alarm level is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Share of benign trajectories that may alarm.
    pub false_alarms: f64,
    /// Consecutive events that are drawn together; shorter runs are taken whole.
    pub block_events: usize,
    /// Where the blocks of one drawn trajectory come from.
    pub blocks: Blocks,
    /// Events of each drawn trajectory; as many as those seen have when left out. A level for the longest holds for all that are shorter.
    pub length_events: Option<usize>,
    /// Trajectories to draw.
    pub draws: usize,
    /// Events of the endless session that the run length is counted on.
    pub arl_events: u64,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            false_alarms: 0.005,
            block_events: 5,
            blocks: Blocks::OfOneUnit,
            length_events: None,
            draws: 20_000,
            arl_events: 2_000_000,
            seed: 1,
        }
    }
}

/// An alarm level, and what it does to benign trajectories.
#[derive(Clone, Debug, PartialEq)]
pub struct Alarm {
    /// The level h: persistence at or above it is an alarm. Where no benign trajectory ever rises it is one millionth.
    pub level: f64,
    /// Share of drawn trajectories that alarm; at a level that was found, at most what was asked for.
    pub drawn: f64,
    /// Events of the longest trajectory seen.
    pub longest_events: usize,
    /// Share of drawn trajectories that alarm when all are as long as the longest.
    pub longest: f64,
    /// Mean number of events from one alarm to the next (ARL0) in an endless benign session that is reset after each and goes from task to task; `None`
    /// when it never alarmed.
    pub arl0_events: Option<f64>,
    /// The trajectories themselves that alarm, by unit. The level was chosen on them, so this is no measurement of it.
    pub seen: Share,
}

/// The lowest level that at most the planned share of benign trajectories reaches, by block bootstrap.
///
/// A trajectory is drawn so: a unit, each alike however many runs it has; one of its runs, which gives the length; then blocks of consecutive events from random
/// places of random runs, until it is as long.
///
/// # Errors
/// When there is no event, a number is not finite, or the plan asks for more than its draws can say.
pub fn alarm(benign: &[Benign], drift: f64, plan: &Plan) -> anyhow::Result<Alarm> {
    ensure!(plan.false_alarms > 0.0 && plan.false_alarms < 1.0, "the share of false alarms is between 0 and 1, not {}", plan.false_alarms);
    let beyond = plan.false_alarms * plan.draws as f64;
    let enough = (BEYOND_AT_LEAST / plan.false_alarms).ceil();
    ensure!(beyond >= BEYOND_AT_LEAST, "{} draws leave {beyond} beyond the level; take at least {enough}", plan.draws);
    let mut persistence = drawn(&mut Draws::new(benign, plan)?, plan.length_events, drift, plan.draws)?;
    persistence.sort_by(|a, b| b.total_cmp(a));
    at_level(benign, drift, above(persistence[beyond as usize]), plan)
}

/// The lowest level that none of these trajectories reaches.
///
/// # Errors
/// When a number is not finite.
pub fn above_all(benign: &[Benign], drift: f64) -> anyhow::Result<f64> {
    let highest = benign.iter().try_fold(0.0, |highest: f64, run| Ok::<_, anyhow::Error>(highest.max(persistence(&run.scores, drift)?)))?;
    Ok(above(highest))
}

/// What a level does to benign trajectories, whether [`alarm`] found it or it was raised since: above 1 - k no single event can reach it, for scores end at 1.
///
/// # Errors
/// When there is no event or a number is not finite.
pub fn at_level(benign: &[Benign], drift: f64, level: f64, plan: &Plan) -> anyhow::Result<Alarm> {
    ensure!(level.is_finite() && plan.draws > 0, "a level is a finite number, and at least one trajectory is drawn");
    let mut draws = Draws::new(benign, plan)?;
    let longest_events = draws.longest();
    let reached = |found: &[f64]| found.iter().filter(|&&persistence| persistence >= level).count() as f64 / found.len() as f64;
    // In the order of `alarm`, so that the share is that of the draws which it chose the level on.
    let share = reached(&drawn(&mut draws, plan.length_events, drift, plan.draws)?);
    let longest = reached(&drawn(&mut draws, Some(longest_events), drift, plan.draws)?);
    let arl0_events = run_length(&mut draws, drift, level, plan.arl_events)?;
    let mut seen = Share::default();
    for run in benign {
        seen.count(&run.unit, persistence(&run.scores, drift)? >= level);
    }
    Ok(Alarm { level, drawn: share, longest_events, longest, arl0_events, seen })
}

/// The lowest level, in whole millionths, at which an endless benign session that goes from task to task and is reset after each alarm has `events` events from
/// one alarm to the next on average (ARL0), and that average; found by halving, each try on the same draws.
///
/// # Errors
/// When there is no event, a number is not finite, or `events` is 0.
pub fn for_run_length(benign: &[Benign], drift: f64, events: u64, plan: &Plan) -> anyhow::Result<(f64, Option<f64>)> {
    ensure!(events > 0, "an average run length is at least one event");
    let at = |steps: u64| {
        let level = steps as f64 / LEVELS_IN_ONE;
        // So long that what is asked for would alarm often enough to be told from its neighbours.
        let length = run_length(&mut Draws::new(benign, plan)?, drift, level, events.saturating_mul(BEYOND_AT_LEAST as u64))?;
        Ok::<_, anyhow::Error>((level, length))
    };
    let enough = |length: Option<f64>| length.is_none_or(|length| length >= events as f64);
    let (mut low, mut high) = (0, LEVELS_IN_ONE as u64);
    while !enough(at(high)?.1) {
        (low, high) = (high, high * 2);
    }
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if enough(at(middle)?.1) { high = middle } else { low = middle }
    }
    at(high)
}

/// Persistences of drawn trajectories, of `length` events or as long as those seen.
fn drawn(draws: &mut Draws<'_>, length: Option<usize>, drift: f64, number: usize) -> anyhow::Result<Vec<f64>> {
    (0..number).map(|_| persistence(draws.trajectory(length), drift)).collect()
}

/// The first whole millionth above a value.
fn above(value: f64) -> f64 {
    let mut steps = (value * LEVELS_IN_ONE).floor();
    while steps / LEVELS_IN_ONE <= value {
        steps += 1.0;
    }
    steps / LEVELS_IN_ONE
}

/// Persistence as the gateway computes it.
fn persistence(scores: &[f64], drift: f64) -> anyhow::Result<f64> {
    Ok(accumulate(scores, params(drift)).ok().context(NOT_FINITE)?.persistence())
}

/// Mean events from alarm to alarm.
fn run_length(draws: &mut Draws<'_>, drift: f64, level: f64, events: u64) -> anyhow::Result<Option<f64>> {
    let (mut seen, mut alarms) = (0_u64, 0_u64);
    let mut trajectory = Trajectory::default();
    while seen < events {
        for &score in draws.block_of_any() {
            seen += 1;
            if push(&mut trajectory, score, drift)? >= level {
                alarms += 1;
                trajectory = Trajectory::default();
            }
        }
    }
    Ok((alarms > 0).then(|| seen as f64 / alarms as f64))
}

/// The CUSUM after one more event.
fn push(trajectory: &mut Trajectory, score: f64, drift: f64) -> anyhow::Result<f64> {
    trajectory.push(score, params(drift)).ok().context(NOT_FINITE)
}

/// The threshold for single events plays no part here.
fn params(drift: f64) -> Params {
    Params { tau: 0.0, drift }
}
