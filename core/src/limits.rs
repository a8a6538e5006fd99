//! Every bounded number of the core, declared once.

/// Deepest nesting of JSON objects and arrays that is read.
pub const MAX_DEPTH: usize = 128;
/// Deepest nesting of content parts whose keys are told apart; what lies deeper is scanned as plain strings.
pub const MAX_CONTENT_LEVELS: usize = 8;
/// Most messages of one body that are read; more is an issue that refuses.
pub const MAX_MESSAGES: usize = 16_384;
/// Most issues that are listed; later ones are dropped, since the first decides.
pub const MAX_ISSUES: usize = 64;
/// Most reasons that a judgement lists; hits beyond still count in the score.
pub const MAX_REASONS: usize = 64;
/// Most categories of a set: one bit each in a `u32`.
pub const MAX_CATEGORIES: usize = 32;
/// Fewest whitespace tokens of a user message that takes part in the resampling check (arXiv 2602.11247).
pub const RESAMPLING_MIN_TOKENS: usize = 20;
/// Consecutive similar pairs of user messages that make resampling (arXiv 2602.11247).
pub const RESAMPLING_MIN_PAIRS: usize = 3;
/// Fewest turns of a strictly rising run at the end that make escalation (arXiv 2602.11247).
pub const ESCALATION_MIN_TURNS: usize = 3;
/// Allowance for rounding when a score is compared with the threshold (DESIGN.md 7).
pub const SCORE_TOLERANCE: f64 = 1e-9;
