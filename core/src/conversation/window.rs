//! What a window of consecutive turns scores, and which window scores highest (DESIGN.md 7).

use super::{Params, Turn};
use crate::limits::ESCALATION_MIN_TURNS;

/// A window and the parts of its value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    /// First turn.
    pub first: usize,
    /// Last turn.
    pub last: usize,
    pub peak: f64,
    pub match_ratio: f64,
    pub distinct_categories: u32,
    pub diversity: f64,
    pub escalation: bool,
    pub freshness: f64,
    /// The parts' sum times the freshness; it may be above 1.
    pub value: f64,
}

/// What is counted while a window grows.
#[derive(Clone, Copy, Default)]
struct Counts {
    peak: f64,
    hits: u32,
    categories: u32,
}

impl Counts {
    fn with(self, &(turn, score): &(Turn, f64)) -> Self {
        let hits = self.hits + u32::from(score > 0.0);
        Counts { peak: self.peak.max(score), hits, categories: self.categories | turn.categories }
    }

    /// The window from `first` to `last`; the share of hits is taken of at least `least` turns.
    fn window(self, (first, last): (usize, usize), least: usize, escalation: bool, freshness: f64, params: &Params) -> Window {
        let match_ratio = f64::from(self.hits) / (last + 1 - first).max(least) as f64;
        let distinct_categories = self.categories.count_ones();
        let diversity = f64::from(distinct_categories.saturating_sub(1)) * params.delta;
        let sum = self.peak + match_ratio * params.rho + diversity + if escalation { params.beta_e } else { 0.0 };
        let Counts { peak, .. } = self;
        Window { first, last, peak, match_ratio, distinct_categories, diversity, escalation, freshness, value: sum * freshness }
    }
}

impl Window {
    /// The whole history as one window, as the paper scores it.
    pub fn whole(turns: &[(Turn, f64)], params: &Params) -> Self {
        let counts = turns.iter().fold(Counts::default(), Counts::with);
        counts.window((0, turns.len().saturating_sub(1)), 1, params.escalation && rises(turns), 1.0, params)
    }
}

/// The window with the highest value, the first of equals, the shortest first; `None` when no window has any. Work: turns times
/// `window_max_turns`, and with decay no more than the last `gone_turns` turns.
pub fn best(turns: &[(Turn, f64)], params: &Params) -> Option<Window> {
    let mut best: Option<Window> = None;
    for (last, _) in turns.iter().enumerate() {
        let freshness = freshness(turns.len() - 1 - last, params);
        if freshness <= 0.0 {
            continue;
        }
        let ended = turns.get(..=last).unwrap_or_default();
        let rising = params.escalation && rises(ended);
        let mut counts = Counts::default();
        for (turns, (first, turn)) in (1..=params.window_max_turns as usize).zip(ended.iter().enumerate().rev()) {
            counts = counts.with(turn);
            let escalation = rising && turns >= ESCALATION_MIN_TURNS;
            let window = counts.window((first, last), params.window_min_turns as usize, escalation, freshness, params);
            if window.value > best.map_or(0.0, |best| best.value) {
                best = Some(window);
            }
        }
    }
    best
}

/// What a window counts when `after` turns followed it: everything up to `fresh_turns`, nothing from `gone_turns` on.
fn freshness(after: usize, params: &Params) -> f64 {
    let (fresh, gone) = (f64::from(params.fresh_turns), f64::from(params.gone_turns));
    let after = after as f64;
    if !params.decay || after <= fresh { 1.0 } else { ((gone - after) / (gone - fresh)).max(0.0) }
}

/// Whether the last three or more turns strictly rise. Since a longer rising run ends in a rising run of three, three are enough to look at.
fn rises(turns: &[(Turn, f64)]) -> bool {
    let rising = |pair: &[(Turn, f64)]| pair.first().map(|(_, score)| score) < pair.last().map(|(_, score)| score);
    turns.last_chunk::<ESCALATION_MIN_TURNS>().is_some_and(|last| last.windows(2).all(rising))
}
