//! What is said of a run in one number, or of each of its events: the paper's statistics by the gateway's own accumulator, and those of rarities.

use floodmark_core::trajectory::{Params, Trajectory};

use super::rarity::{References, Which};
use crate::evaluate::Run;
use crate::events::{Channel, Label, accumulate};

/// What a rarity is on average if honest results are drawn like those it is taken from: -ln of an even share has the mean 1.
const EVEN: f64 = 1.0;

/// A run as one detector sees it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View<'r> {
    pub run: &'r Run,
    /// Scores of its events by position.
    pub scores: Vec<f64>,
    /// Scores of its tool results alone.
    results: Vec<f64>,
    /// Rarities of its tool results.
    rarities: Vec<f64>,
    /// Scores of all events that do not hold the attack, and rarities of such tool results.
    rest: [Vec<f64>; 2],
}

/// A statistic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Statistic {
    /// Every event's score for itself, as if there were no runs.
    Foil,
    /// The highest score.
    Peak,
    /// The highest CUSUM with this drift.
    Persistence(f64),
    /// The share of scores at or over this threshold.
    FracOverTau(f64),
    /// The number of events: what length alone tells.
    Events,
    /// The highest score of tool results.
    ResultPeak,
    /// The highest rarity of tool results.
    Rarity,
    /// The peak as if the events that hold the attack were not there: what attacked runs have beside it.
    PeakOfRest,
    /// Rarity likewise.
    RarityOfRest,
    /// The highest CUSUM of rarities, whose drift is their mean in honest runs.
    RarityPersistence,
}

impl<'r> View<'r> {
    /// `None` where there is no event, or one that this detector gave no finite number.
    pub fn new(run: &'r Run, which: Which, references: &References) -> Option<Self> {
        let score = |event: &crate::evaluate::Scored| match which {
            Which::Record => Some(event.score),
            Which::Unseen => event.unseen,
        };
        let scores = run
            .events
            .iter()
            .map(score)
            .collect::<Option<Vec<f64>>>()
            .filter(|scores| !scores.is_empty() && scores.iter().all(|score| score.is_finite()))?;
        let mut view = View { run, scores: Vec::new(), results: Vec::new(), rarities: Vec::new(), rest: [Vec::new(), Vec::new()] };
        for (event, &score) in run.events.iter().zip(&scores) {
            let rest = event.label != Label::Attack;
            if rest {
                view.rest[0].push(score);
            }
            if event.channel == Channel::ToolResult {
                let rarity = references.rarity(which, &run.set, event.tool, score);
                view.results.push(score);
                view.rarities.push(rarity);
                if rest {
                    view.rest[1].push(rarity);
                }
            }
        }
        view.scores = scores;
        Some(view)
    }

    /// Scores of the events that hold the attack.
    pub fn attacks(&self) -> impl Iterator<Item = f64> {
        self.run.events.iter().zip(&self.scores).filter(|(event, _)| event.label == Label::Attack).map(|(_, &score)| score)
    }

    /// The statistic: one value, or of the foil one for each event.
    pub fn values(&self, statistic: Statistic) -> Vec<f64> {
        let one = match statistic {
            Statistic::Foil => return self.scores.clone(),
            Statistic::Peak => accumulated(&self.scores, 0.0, 0.0).peak(),
            Statistic::Persistence(drift) => accumulated(&self.scores, 0.0, drift).persistence(),
            Statistic::FracOverTau(tau) => accumulated(&self.scores, tau, 0.0).frac_over_tau(),
            Statistic::Events => self.scores.len() as f64,
            Statistic::ResultPeak => accumulated(&self.results, 0.0, 0.0).peak(),
            Statistic::Rarity => accumulated(&self.rarities, 0.0, 0.0).peak(),
            Statistic::PeakOfRest => accumulated(&self.rest[0], 0.0, 0.0).peak(),
            Statistic::RarityOfRest => accumulated(&self.rest[1], 0.0, 0.0).peak(),
            Statistic::RarityPersistence => accumulated(&self.rarities, 0.0, EVEN).persistence(),
        };
        vec![one]
    }

    /// The statistic of a run; of the foil its highest value.
    pub fn value(&self, statistic: Statistic) -> f64 {
        self.values(statistic).into_iter().fold(0.0, f64::max)
    }
}

/// What the gateway adds up of finite scores: only what is no finite number is refused, and whoever comes here has looked.
pub(crate) fn accumulated(scores: &[f64], tau: f64, drift: f64) -> Trajectory {
    accumulate(scores, Params { tau, drift }).unwrap_or_default()
}

/// The CUSUM after each event.
pub(super) fn path(scores: &[f64], drift: f64) -> Vec<f64> {
    let mut trajectory = Trajectory::default();
    scores.iter().map(|&score| trajectory.push(score, Params { tau: 0.0, drift }).unwrap_or(f64::NAN)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    #[test]
    fn statistics_are_those_of_the_paper() {
        // A user's message, a result, a call, a result.
        let run =
            run("r", true, &[(Channel::User, 0.5), (Channel::ToolResult, 0.25), (Channel::ToolCall, 0.75), (Channel::ToolResult, 0.5)]);
        let view = View::new(&run, Which::Record, &References::default()).unwrap();
        assert_eq!(view.values(Statistic::Foil), [0.5, 0.25, 0.75, 0.5]);
        // With drift .25: .25, .25, .75, 1.
        assert_eq!(path(&view.scores, 0.25), [0.25, 0.25, 0.75, 1.0]);
        for (statistic, value) in [
            (Statistic::Peak, 0.75),
            (Statistic::Persistence(0.25), 1.0),
            (Statistic::Persistence(0.5), 0.25),
            (Statistic::FracOverTau(0.5), 0.75),
            (Statistic::Events, 4.0),
            (Statistic::ResultPeak, 0.5),
        ] {
            assert_eq!(view.values(statistic), [value], "{statistic:?}");
        }
        assert!(View::new(&run, Which::Unseen, &References::default()).is_none(), "the other detector did not score it");
    }

    /// One honest result of .5: a result of .75 has P = (0 + (0 + 1/2) / 2) / 2 = 1/8, one of .5 has 1.
    #[test]
    fn rarities_add_up_over_their_mean() {
        let mut honest = run("h", false, &[(Channel::ToolResult, 0.5)]);
        honest.split = crate::data::Split::Train;
        let references = References::of_runs(&[honest]);
        let run =
            run("r", true, &[(Channel::ToolResult, 0.75), (Channel::User, 0.9), (Channel::ToolResult, 0.5), (Channel::ToolResult, 0.75)]);
        let view = View::new(&run, Which::Record, &references).unwrap();
        let rare = libm::log(8.0);
        assert!((view.value(Statistic::Rarity) - rare).abs() < 1e-12);
        // All of its events hold the attack but one, which is no rarer than the honest one.
        let mut run = run.clone();
        run.events[2].label = Label::Benign;
        let rest = View::new(&run, Which::Record, &references).unwrap();
        assert_eq!([rest.value(Statistic::PeakOfRest), rest.value(Statistic::RarityOfRest)], [0.5, 0.0]);
        assert!((view.value(Statistic::RarityPersistence) - (2.0 * rare - 3.0)).abs() < 1e-12);
    }
}
