//! Ways to put the scores of a conversation's events together into one number.

use floodmark_core::conversation;
use floodmark_core::detector::Levels;
use floodmark_core::trajectory::Params;

use super::case::{Case, Chat};
use super::scoring::Scoring;
use crate::events::accumulate;

/// Log odds are kept within this, so that a score of 0 or 1 is a number.
const MOST_ODDS: f64 = 20.0;

/// A statistic of a conversation; larger is worse.
pub(super) struct Statistic {
    pub name: String,
    pub value: Box<dyn Fn(&Case) -> f64>,
}

/// The name of the plain maximum, which others are compared with.
pub(super) const PEAK: &str = "plain maximum of event scores (peak)";
/// How the name of the sum alone begins, with the drift of the gateway.
pub(super) const PERSISTENCE: &str = "persistence, baked drift";
/// The name of what the gateway blocks by: at 1 it blocks.
pub(super) const GATEWAY: &str = "gateway: peak, persistence and patterns, each in parts of its level";
/// The name of the best on dev of those that were tried (docs/decisions.md).
pub(super) const LOG_ODDS: &str = "CUSUM of log odds, reference .5, at most -1 an event";

/// All of them. `median` is the benign median of event scores, the drift of arXiv's second paper.
pub(super) fn all(levels: &Levels, median: f64) -> Vec<Statistic> {
    let Levels { tau_event, event_block, drift, alarm, .. } = *levels;
    let mut all: Vec<Statistic> = Vec::new();
    let mut add = |name: String, value: Box<dyn Fn(&Case) -> f64>| all.push(Statistic { name, value });
    add(PEAK.to_owned(), over(peak));
    let drifts = [(PERSISTENCE, drift), ("persistence, benign median as drift", median), ("persistence, drift .5", 0.5)];
    for (name, drift) in drifts {
        add(format!("{name} ({drift:.3})"), over(move |events| persistence(events, drift)));
    }
    add("frac_over_tau".to_owned(), over(move |events| fraction(events, tau_event)));
    add("mean of the two highest".to_owned(), over(top_two));
    add("noisy or".to_owned(), over(noisy_or));
    add("pattern score, profile paper".to_owned(), pattern(Scoring::paper()));
    add("pattern score, profile floodmark".to_owned(), pattern(Scoring::floodmark()));
    let parts =
        move |drift: f64, alarm: f64| over(move |events: &[f64]| (peak(events) / event_block).max(persistence(events, drift) / alarm));
    add("larger of peak and persistence, each in parts of its level".to_owned(), parts(drift, alarm));
    add("the same with drift .5 and alarm .9".to_owned(), parts(0.5, 0.9));
    let (sums, patterns) = (over(move |events| persistence(events, drift) / alarm), pattern(Scoring::floodmark()));
    let tau = conversation::Params::default().tau;
    let turns = move |case: &Case| case.chats.iter().map(|chat| chat.highest_turn / event_block).fold(0.0, f64::max);
    add(GATEWAY.to_owned(), Box::new(move |case| turns(case).max(sums(case)).max(patterns(case) / tau)));
    let joined = |case: &Case| case.chats.iter().map(|chat| chat.joined.max(peak(&chat.events))).fold(0.0, f64::max);
    add("plain maximum, two or three user messages in a row read as one text too".to_owned(), Box::new(joined));
    add(LOG_ODDS.to_owned(), over(|events| log_odds(events, 0.5)));
    let patterns = pattern(Scoring::floodmark());
    let odds = over(|events| log_odds(events, 0.5));
    add("the same and twice the pattern score".to_owned(), Box::new(move |case| odds(case) + 2.0 * patterns(case)));
    all
}

/// The highest of a statistic of each chat's events.
fn over(value: impl Fn(&[f64]) -> f64 + 'static) -> Box<dyn Fn(&Case) -> f64> {
    Box::new(move |case| {
        let of = |chat: &Chat| if chat.events.is_empty() { f64::NEG_INFINITY } else { value(&chat.events) };
        case.chats.iter().map(of).fold(f64::NEG_INFINITY, f64::max)
    })
}

fn pattern(scoring: Scoring) -> Box<dyn Fn(&Case) -> f64> {
    Box::new(move |case| scoring.highest(case))
}

fn peak(events: &[f64]) -> f64 {
    events.iter().copied().fold(0.0, f64::max)
}

/// The highest CUSUM, as the gateway takes it; infinite if something is no number.
pub(super) fn persistence(events: &[f64], drift: f64) -> f64 {
    accumulate(events, Params { tau: 1.0, drift }).map_or(f64::INFINITY, |run| run.persistence())
}

fn fraction(events: &[f64], tau: f64) -> f64 {
    events.iter().filter(|score| **score >= tau).count() as f64 / events.len().max(1) as f64
}

fn top_two(events: &[f64]) -> f64 {
    let mut sorted = events.to_vec();
    sorted.sort_by(|one, other| other.total_cmp(one));
    sorted.iter().take(2).sum::<f64>() / 2.0
}

/// How surely at least one event is an attack, if each were one independently with its score's chance; as log odds of it, since it is nearly 1 soon.
fn noisy_or(events: &[f64]) -> f64 {
    events.iter().map(|score| -libm::log1p(-score.min(1.0 - 1e-12))).sum()
}

/// The CUSUM of log odds less a reference, each event at least -1: what Page's test is for scores that are chances. While no event is above the reference it is the highest event's distance
/// from it, so that it ranks those too.
pub(super) fn log_odds(events: &[f64], reference: f64) -> f64 {
    let (mut sum, mut highest, mut nearest) = (0.0_f64, 0.0_f64, f64::NEG_INFINITY);
    for score in events {
        let step = odds(*score) - reference;
        nearest = nearest.max(step);
        sum = (sum + step.max(-1.0)).max(0.0);
        highest = highest.max(sum);
    }
    if highest > 0.0 { highest } else { nearest }
}

fn odds(score: f64) -> f64 {
    (libm::log(score) - libm::log1p(-score)).clamp(-MOST_ODDS, MOST_ODDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn statistics_by_hand() {
        let events = [0.1, 0.9, 0.6, 0.2];
        close(peak(&events), 0.9);
        // .4 from the second, .5 with the third.
        close(persistence(&events, 0.5), 0.5);
        close(fraction(&events, 0.6), 0.5);
        close(top_two(&events), 0.75);
        close(top_two(&[0.5]), 0.25);
        // 1 - .9 * .1 * .4 * .8
        close(noisy_or(&events), -libm::log(0.9 * 0.1 * 0.4 * 0.8));
        assert_eq!([peak(&[]), fraction(&[], 0.5)], [0.0, 0.0]);
    }

    /// Scores with log odds that are whole multiples of log 3: 1/4, 1/2, 3/4, 9/10.
    #[test]
    fn log_odds_by_hand() {
        let three = libm::log(3.0);
        close(odds(0.75), three);
        close(odds(0.9), 2.0 * three);
        assert_eq!([odds(0.0), odds(1.0)], [-MOST_ODDS, MOST_ODDS]);
        // 0, then log 3 - .5, then a floor of -1 for log(1/3) - .5, then 2 log 3 - .5 on top.
        let kept = (three - 0.5 - 1.0_f64).max(0.0);
        close(log_odds(&[0.5, 0.75, 0.25, 0.9], 0.5), kept + 2.0 * three - 0.5);
        close(log_odds(&[0.25, 0.5], 0.5), -0.5);
        assert!(log_odds(&[0.75, 0.75], 0.5) > log_odds(&[0.75], 0.5), "it adds up");
    }
}
