//! The conversation score: peak and accumulation over the turns (arXiv 2602.11247, section 4; DESIGN.md 7, profile `paper`).

mod resampling;

use alloc::vec::Vec;

pub use resampling::Resampling;
use serde::{Deserialize, Serialize};

use crate::limits::{ESCALATION_MIN_TURNS, MAX_DROPPED, SCORE_TOLERANCE};

/// Numbers of the formula. The defaults are the paper's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Weight of the share of turns that hit anything (rho). 0 to 1.
    pub rho: f64,
    /// Added for every distinct category beyond the first (delta). 0 to 1.
    pub delta: f64,
    /// Added when the last three or more turns strictly rise (beta_e). 0 to 1.
    pub beta_e: f64,
    /// Added when user messages resample one request (beta_r). 0 to 1.
    pub beta_r: f64,
    /// The score from which a conversation is blocked (tau). 0.01 to 1.
    pub tau: f64,
    /// Fewest user messages of a conversation that is judged; with fewer the score is 0. At most 1000.
    pub min_user_turns: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { rho: 0.45, delta: 0.15, beta_e: 0.2, beta_r: 0.7, tau: 0.7, min_user_turns: 2 }
    }
}

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
    /// Whether there were enough user messages; if not, every part but `turn_scores` is zero.
    pub evaluated: bool,
    /// Score of each turn, 0 to 1.
    pub turn_scores: Vec<f64>,
    /// The highest turn score.
    pub peak: f64,
    /// Share of turns that hit anything.
    pub match_ratio: f64,
    /// Number of categories hit in the conversation.
    pub distinct_categories: u32,
    /// What the distinct categories add.
    pub diversity: f64,
    /// Whether the conversation escalates at its end.
    pub escalation: bool,
    /// Whether user messages resample one request.
    pub resampling: bool,
    /// The conversation's score, 0 to 1.
    pub score: f64,
    /// Whether it reaches tau.
    pub reaches_tau: bool,
}

/// Scores `turns`, given in wire order. `weights[c]` is category `c`'s weight; a category without one weighs nothing.
pub fn score(turns: &[Turn], resampling: bool, weights: &[f64], params: &Params) -> Score {
    let turn_scores: Vec<f64> = turns.iter().map(|turn| turn_score(turn.categories, weights)).collect();
    let users = turns.iter().filter(|turn| turn.user).count();
    if users < params.min_user_turns as usize || turns.is_empty() {
        return Score { turn_scores, ..Score::default() };
    }
    let peak = turn_scores.iter().copied().fold(0.0, f64::max);
    let hits = turn_scores.iter().filter(|&&score| score > 0.0).count();
    let match_ratio = hits as f64 / turns.len() as f64;
    let distinct_categories = turns.iter().fold(0, |all, turn| all | turn.categories).count_ones();
    let diversity = f64::from(distinct_categories.saturating_sub(1)) * params.delta;
    let escalation = escalates(&turn_scores);
    let sum = peak
        + match_ratio * params.rho
        + diversity
        + if escalation { params.beta_e } else { 0.0 }
        + if resampling { params.beta_r } else { 0.0 };
    let score = sum.clamp(0.0, 1.0);
    Score {
        evaluated: true,
        turn_scores,
        peak,
        match_ratio,
        distinct_categories,
        diversity,
        escalation,
        resampling,
        score,
        reaches_tau: score >= params.tau - SCORE_TOLERANCE,
    }
}

/// The fewest messages, chosen one by one by their highest turn, without which the score is below tau; ascending. `None` when more than
/// [`MAX_DROPPED`] would have to go, or when resampling alone reaches tau: which messages are alike is not known here.
pub fn without(turns: &[Turn], messages: &[u32], weights: &[f64], resampling: bool, params: &Params) -> Option<Vec<u32>> {
    let mut left: Vec<(Turn, u32)> = turns.iter().copied().zip(messages.iter().copied()).collect();
    let mut dropped = Vec::new();
    loop {
        let turns: Vec<Turn> = left.iter().map(|(turn, _)| *turn).collect();
        let now = score(&turns, resampling, weights, params);
        if !now.reaches_tau {
            dropped.sort_unstable();
            return Some(dropped);
        }
        let at = now.turn_scores.iter().position(|&turn| turn > 0.0 && turn >= now.peak)?;
        let message = left.get(at).map(|(_, message)| *message)?;
        if dropped.len() == MAX_DROPPED {
            return None;
        }
        dropped.push(message);
        left.retain(|(_, of)| *of != message);
    }
}

/// The sum of the weights of the categories that were hit, at most 1.
fn turn_score(categories: u32, weights: &[f64]) -> f64 {
    let hit = weights.iter().enumerate().filter(|&(category, _)| categories.checked_shr(category as u32).is_some_and(|bits| bits & 1 == 1));
    // Not `sum`: over nothing it is -0.0, which reports would print.
    hit.fold(0.0, |sum, (_, weight)| sum + weight).min(1.0)
}

/// Whether the last three or more turns strictly rise. Since a longer rising run ends in a rising run of three, three are enough to look at.
fn escalates(turn_scores: &[f64]) -> bool {
    turn_scores.last_chunk::<ESCALATION_MIN_TURNS>().is_some_and(|last| last.windows(2).all(|pair| pair.first() < pair.last()))
}
