//! Formulas over what is kept of a conversation: the two profiles, profiles with single differences switched, and the weighted average.

use floodmark_core::conversation::{Formula, Params, Profile, Turn};
use floodmark_core::limits::SCORE_TOLERANCE;
use floodmark_tables::CATEGORIES;

use super::case::{Case, Chat};

/// The built-in weights by number of category.
pub(super) fn weights() -> Vec<f64> {
    CATEGORIES.categories.iter().map(|category| category.weight).collect()
}

/// What of profile `floodmark` is there; without all of it, it is profile `paper`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Differences {
    /// The best window of turns, not the whole history.
    pub windows: bool,
    /// The share of hits is taken of at least `window_min_turns`.
    pub least_length: bool,
    /// Windows fade.
    pub decay: bool,
    /// Resampling flags and adds nothing.
    pub resampling_flags: bool,
    /// Two turns are enough, one of them a user's, not two user messages.
    pub two_turns: bool,
}

impl Differences {
    pub const NONE: Differences =
        Differences { windows: false, least_length: false, decay: false, resampling_flags: false, two_turns: false };
    pub const ALL: Differences = Differences { windows: true, least_length: true, decay: true, resampling_flags: true, two_turns: true };
}

/// A formula with its numbers.
#[derive(Clone, Debug)]
pub(super) struct Scoring {
    differences: Differences,
    params: Params,
    weights: Vec<f64>,
}

impl Scoring {
    pub fn new(differences: Differences, params: Params) -> Self {
        let params = Params {
            window_min_turns: if differences.least_length { params.window_min_turns } else { 1 },
            decay: differences.decay,
            min_user_turns: if differences.two_turns { 0 } else { params.min_user_turns },
            ..params
        };
        Scoring { differences, params, weights: weights() }
    }

    /// Profile `paper`.
    pub fn paper() -> Self {
        Scoring::new(Differences::NONE, Params::default())
    }

    /// Profile `floodmark`.
    pub fn floodmark() -> Self {
        Scoring::new(Differences::ALL, Params::default())
    }

    /// The score of the first `end` turns of a chat.
    fn score(&self, chat: &Chat, end: usize) -> f64 {
        let Scoring { differences, params, weights } = self;
        let turns = chat.turns.get(..end).unwrap_or_default();
        let users = turns.iter().filter(|turn| turn.user).count();
        let enough = if differences.two_turns {
            users > 0 && turns.len() >= params.min_turns as usize
        } else {
            users >= params.min_user_turns as usize
        };
        if !enough || turns.is_empty() {
            return 0.0;
        }
        let value = if differences.windows {
            Formula { profile: Profile::Floodmark, params, weights }.score(turns, false).score
        } else {
            whole(turns, params, weights)
        };
        // It is known of the last request only; the messages that make it so may come before, where nothing is said of it.
        let resampled = chat.resampling[1] && end == chat.turns.len() && !differences.resampling_flags;
        (value + if resampled { params.beta_r } else { 0.0 }).min(1.0)
    }

    /// The score of the last request.
    pub fn at_the_end(&self, case: &Case) -> f64 {
        case.chats.iter().map(|chat| self.score(chat, chat.turns.len())).fold(0.0, f64::max)
    }

    /// The highest score of all requests, each with the history so far.
    pub fn highest(&self, case: &Case) -> f64 {
        case.chats.iter().flat_map(|chat| chat.ends.iter().map(|&end| self.score(chat, end))).fold(0.0, f64::max)
    }

    /// Whether a score blocks.
    pub fn blocks(&self, score: f64) -> bool {
        score >= self.params.tau - SCORE_TOLERANCE
    }
}

/// The paper's formula without resampling over all turns; the share of hits is taken of at least `window_min_turns`.
fn whole(turns: &[Turn], params: &Params, weights: &[f64]) -> f64 {
    let paper = Params { min_user_turns: 0, ..params.clone() };
    let score = Formula { profile: Profile::Paper, params: &paper, weights }.score(turns, false);
    let length = turns.len() as f64;
    let ratio = score.match_ratio * length / length.max(f64::from(params.window_min_turns));
    score.peak + ratio * params.rho + score.diversity + if score.escalation { params.beta_e } else { 0.0 }
}

/// The baseline of arXiv 2602.11247: the average of the turns' scores with weights that rise evenly from 1 to 2, the latest turn weighing most.
pub(super) fn weighted_average(scores: &[f64]) -> f64 {
    let last = scores.len().saturating_sub(1).max(1) as f64;
    let weight = |turn: usize| 1.0 + turn as f64 / last;
    let sum = scores.iter().enumerate().map(|(turn, score)| weight(turn) * score).sum::<f64>();
    let weights = (0..scores.len()).map(weight).sum::<f64>();
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// The scores of a chat's turns.
pub(super) fn turn_scores(turns: &[Turn]) -> Vec<f64> {
    let (params, weights) = (Params { min_user_turns: 0, ..Params::default() }, weights());
    Formula { profile: Profile::Paper, params: &params, weights: &weights }.score(turns, false).turn_scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use floodmark_core::conversation::Score;
    use proptest::prelude::*;

    fn case(turns: Vec<Turn>) -> Case {
        let ends = (1..=turns.len()).collect();
        let chat = Chat { turns, ends, ..Chat::default() };
        Case { group: super::super::case::Group::Conversation, set: String::new(), unit: String::new(), chats: vec![chat] }
    }

    fn formula(profile: Profile, turns: &[Turn]) -> Score {
        Formula { profile, params: &Params::default(), weights: &weights() }.score(turns, false)
    }

    proptest! {
        #[test]
        fn with_all_or_none_of_the_differences_it_is_a_profile(turns in proptest::collection::vec((any::<bool>(), 0_u32..16), 1..90)) {
            // Mostly harmless, as conversations are.
            let turns: Vec<Turn> = turns.into_iter().map(|(user, categories)| Turn { user, categories: categories & categories >> 2 }).collect();
            let kept = case(turns.clone());
            prop_assert!((Scoring::paper().at_the_end(&kept) - formula(Profile::Paper, &turns).score).abs() < 1e-12);
            prop_assert!((Scoring::floodmark().at_the_end(&kept) - formula(Profile::Floodmark, &turns).score).abs() < 1e-12);
            let highest = (1..=turns.len()).map(|end| formula(Profile::Paper, &turns[..end]).score).fold(0.0, f64::max);
            prop_assert!((Scoring::paper().highest(&kept) - highest).abs() < 1e-12);
        }

        /// Theorem 1 of arXiv 2602.11247: turns that all score s have a weighted average of s, however many they are.
        #[test]
        fn equal_turns_average_to_themselves(score in 0.0_f64..1.0, number in 1_usize..200) {
            prop_assert!((weighted_average(&vec![score; number]) - score).abs() < 1e-12);
        }
    }

    /// By hand: weights 1, 4/3, 5/3, 2 add up to 6; the hit in the last turn weighs 2 of these, in the first 1.
    #[test]
    fn later_turns_weigh_more() {
        assert!((weighted_average(&[0.0, 0.0, 0.0, 0.6]) - 0.2).abs() < 1e-12);
        assert!((weighted_average(&[0.6, 0.0, 0.0, 0.0]) - 0.1).abs() < 1e-12);
        assert_eq!([weighted_average(&[]), weighted_average(&[0.5])], [0.0, 0.5]);
    }

    #[test]
    fn resampling_adds_at_the_last_request_in_the_paper_only() {
        let mut kept = case(vec![Turn { user: true, categories: 0 }; 4]);
        kept.chats[0].resampling = [true, true];
        assert_eq!((Scoring::paper().at_the_end(&kept), Scoring::floodmark().at_the_end(&kept)), (0.7, 0.0));
        assert!(Scoring::paper().blocks(0.7));
    }
}
