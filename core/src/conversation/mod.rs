//! The conversation score: peak and accumulation over the turns (arXiv 2602.11247, section 4; DESIGN.md 7, both profiles).

mod params;
mod resampling;
mod trigrams;
mod window;

use alloc::vec::Vec;

pub use params::{Params, Profile};
pub use resampling::{Resampling, Streak};

use crate::limits::{MAX_DROPPED, SCORE_TOLERANCE};
use window::Window;

/// A turn as the formula sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// A user's message; otherwise a tool's result.
    pub user: bool,
    /// Bit `c` is set when category `c` was hit.
    pub categories: u32,
}

/// The score and its parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// Whether there were enough turns; if not, every part but `turn_scores` is zero.
    pub evaluated: bool,
    /// Score of each turn, 0 to 1.
    pub turn_scores: Vec<f64>,
    /// First and last of the turns that the parts below are taken of: the whole history in profile `paper`, the window with the highest score
    /// in profile `floodmark`, where there is none if nothing was hit.
    pub window: Option<(usize, usize)>,
    /// What the sum of the parts is multiplied by for the turns that came after the window, 0 to 1.
    pub freshness: f64,
    /// The highest turn score.
    pub peak: f64,
    /// The first turn with it, if it is above 0.
    pub peak_turn: Option<usize>,
    /// Share of turns that hit anything.
    pub match_ratio: f64,
    /// Number of categories hit.
    pub distinct_categories: u32,
    /// What the distinct categories add.
    pub diversity: f64,
    /// Whether the turns escalate at their end.
    pub escalation: bool,
    /// Whether user messages resample one request.
    pub resampling: bool,
    /// The conversation's score, 0 to 1.
    pub score: f64,
    /// Whether it reaches tau.
    pub reaches_tau: bool,
}

impl Score {
    /// The same of turns without the first so many: what lies before them has no place in it.
    pub(crate) fn behind(mut self, first: usize) -> Self {
        self.turn_scores.drain(..first.min(self.turn_scores.len()));
        let place = |turn: usize| turn.checked_sub(first);
        self.window = self.window.and_then(|(from, to)| Some((from.saturating_sub(first), place(to)?)));
        self.peak_turn = self.peak_turn.and_then(place);
        self
    }
}

/// How turns become a score.
#[derive(Clone, Copy, Debug)]
pub struct Formula<'p> {
    /// Which formula.
    pub profile: Profile,
    /// Its numbers, in their ranges ([`crate::Policy`] checks them).
    pub params: &'p Params,
    /// `weights[c]` is category `c`'s weight; a category without one weighs nothing.
    pub weights: &'p [f64],
}

impl Formula<'_> {
    /// Scores `turns`, given in wire order; `resampling` says whether user messages resample one request.
    pub fn score(&self, turns: &[Turn], resampling: bool) -> Score {
        let turn_scores: Vec<f64> = turns.iter().map(|turn| turn_score(turn.categories, self.weights)).collect();
        if !self.evaluates(turns) {
            return Score { turn_scores, ..Score::default() };
        }
        let scored: Vec<(Turn, f64)> = turns.iter().copied().zip(turn_scores.iter().copied()).collect();
        let window = match self.profile {
            Profile::Paper => Some(Window::whole(&scored, self.params)),
            Profile::Floodmark => window::best(&scored, self.params),
        };
        let resampling = resampling && self.params.resampling;
        // In profile `floodmark` templated requests are normal work: they flag and add nothing.
        let beta_r = if resampling && self.profile == Profile::Paper { self.params.beta_r } else { 0.0 };
        let Window { first, last, peak, match_ratio, distinct_categories, diversity, escalation, freshness, .. } =
            window.unwrap_or_default();
        let score = (window.map_or(0.0, |window| window.value) + beta_r).clamp(0.0, 1.0);
        let inside = turn_scores.iter().enumerate().skip(first).take(last + 1 - first);
        let peak_turn = inside.filter(|&(_, &turn)| turn > 0.0 && turn >= peak).map(|(at, _)| at).next();
        Score {
            evaluated: true,
            window: window.map(|_| (first, last)),
            freshness,
            peak,
            peak_turn,
            match_ratio,
            distinct_categories,
            diversity,
            escalation,
            resampling,
            score,
            reaches_tau: score >= self.params.tau - SCORE_TOLERANCE,
            turn_scores,
        }
    }

    /// Whether there are enough turns to judge: two user messages in the paper; two turns, one of them a user's, in profile `floodmark`, since
    /// an agent's run is one user message and many tool results.
    fn evaluates(&self, turns: &[Turn]) -> bool {
        let users = turns.iter().filter(|turn| turn.user).count();
        let enough = match self.profile {
            Profile::Paper => users >= self.params.min_user_turns as usize,
            Profile::Floodmark => users > 0 && turns.len() >= self.params.min_turns as usize,
        };
        enough && !turns.is_empty()
    }

    /// The message of the highest turn where the score reaches tau, by which those to leave out are chosen one by one; `None` in it when that turn
    /// stands in none, or when resampling alone reaches tau: which messages are alike is not known here. `None` when the score is below tau.
    pub fn heaviest(&self, turns: &[(Turn, Option<u32>)], resampling: bool) -> Option<Option<u32>> {
        let alone: Vec<Turn> = turns.iter().map(|(turn, _)| *turn).collect();
        let score = self.score(&alone, resampling);
        score.reaches_tau.then(|| turns.get(score.peak_turn?)?.1)
    }
}

/// Puts a message among those to drop, which are ascending and each there once. Of more than [`MAX_DROPPED`] only one more is kept, which tells it.
pub(crate) fn drop_too(dropped: &mut Vec<u32>, message: u32) {
    if let Err(at) = dropped.binary_search(&message)
        && dropped.len() <= MAX_DROPPED
    {
        dropped.insert(at, message);
    }
}

/// The sum of the weights of the categories that were hit, at most 1.
fn turn_score(categories: u32, weights: &[f64]) -> f64 {
    let hit = weights.iter().enumerate().filter(|&(category, _)| categories.checked_shr(category as u32).is_some_and(|bits| bits & 1 == 1));
    // Not `sum`: over nothing it is -0.0, which reports would print.
    hit.fold(0.0, |sum, (_, weight)| sum + weight).min(1.0)
}
