//! Profiles of the conversation score, and the numbers of the formula.

use serde::{Deserialize, Serialize};

/// How a conversation is scored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// The best window of consecutive turns, fading as turns follow; resampling alone flags. For traffic that people live with.
    #[default]
    Floodmark,
    /// Exactly the formula of arXiv 2602.11247, over the whole history.
    Paper,
}

/// Numbers of the formula. Weights and tau are the paper's by default.
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
    /// Added when user messages resample one request (beta_r). 0 to 1. Profile `paper` only: in `floodmark` resampling flags and adds nothing.
    pub beta_r: f64,
    /// The score from which a conversation is blocked (tau). 0.01 to 1.
    pub tau: f64,
    /// Fewest user messages of a conversation that is judged; with fewer the score is 0. At most 1000. Profile `paper` only.
    pub min_user_turns: u32,
    /// Fewest turns, user messages and tool results, of a conversation that is judged, one of them a user's; with fewer the score is 0.
    /// At most 1000. Profile `floodmark` only, as all that follows but the switches.
    pub min_turns: u32,
    /// Longest window of consecutive turns that is scored, 1 to 64.
    pub window_max_turns: u32,
    /// The share of turns that hit is taken of at least so many turns, so that one hit in a short window is no large share. 1 to 64.
    pub window_min_turns: u32,
    /// A window counts in full while at most so many turns came after it. At most 16384.
    pub fresh_turns: u32,
    /// A window counts nothing once so many turns came after it; in between it fades evenly. More than `fresh_turns`, at most 16385.
    pub gone_turns: u32,
    /// Whether windows fade. With `false` an old hit counts for ever. Profile `floodmark` only.
    pub decay: bool,
    /// Whether rising turns are looked for.
    pub escalation: bool,
    /// Whether resampling is looked for.
    pub resampling: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            rho: 0.45,
            delta: 0.15,
            beta_e: 0.2,
            beta_r: 0.7,
            tau: 0.7,
            min_user_turns: 2,
            min_turns: 2,
            window_max_turns: 12,
            window_min_turns: 4,
            fresh_turns: 16,
            gone_turns: 64,
            decay: true,
            escalation: true,
            resampling: true,
        }
    }
}
