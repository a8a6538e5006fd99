//! Formulas over what is kept of a conversation: the two profiles, profiles with single differences switched, and the weighted average.

use std::ops::Range;

use floodmark_core::conversation::{Formula, Params, Profile, Turn};
use floodmark_core::limits::{ESCALATION_MIN_TURNS, SCORE_TOLERANCE};
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

    /// The score of the last request.
    pub fn at_the_end(&self, case: &Case) -> f64 {
        case.chats.iter().map(|chat| self.highest_of(chat, &[chat.turns.len()])).fold(0.0, f64::max)
    }

    /// The highest score of all requests, each with the history so far.
    pub fn highest(&self, case: &Case) -> f64 {
        case.chats.iter().map(|chat| self.highest_of(chat, &chat.ends)).fold(0.0, f64::max)
    }

    /// The highest score of the first `ends` turns of a chat, which ascend. The work grows with the turns, not with turns times ends: each turn is read once, and
    /// of windows only those are looked at again that the request before did not hold, since those that it held have only faded since.
    fn highest_of(&self, chat: &Chat, ends: &[usize]) -> f64 {
        let Scoring { differences, params, weights } = self;
        let (mut whole, mut judged) = (Whole::default(), 0);
        let mut highest = 0.0_f64;
        for &end in ends.iter().filter(|end| **end <= chat.turns.len()) {
            chat.turns.iter().take(end).skip(whole.turns).for_each(|turn| whole.push(turn, weights));
            let enough = if differences.two_turns {
                whole.users > 0 && end >= params.min_turns as usize
            } else {
                whole.users >= params.min_user_turns as usize
            };
            if !enough || end == 0 {
                continue;
            }
            let value = if differences.windows { self.best_window(&chat.turns[self.newest(judged, end)]) } else { whole.value(params) };
            judged = end;
            // It is known of the last request only; the messages that make it so may come before, where nothing is said of it.
            let resampled = chat.resampling[1] && end == chat.turns.len() && !differences.resampling_flags;
            highest = highest.max((value + if resampled { params.beta_r } else { 0.0 }).min(1.0));
        }
        highest
    }

    /// The turns of all windows that end behind turn `judged` and by turn `end`.
    fn newest(&self, judged: usize, end: usize) -> Range<usize> {
        let longest = (self.params.window_max_turns as usize).max(ESCALATION_MIN_TURNS);
        (judged + 1).saturating_sub(longest).min(end)..end
    }

    /// The value of the best window of these turns, whoever they are of: whether there are enough is known already.
    fn best_window(&self, turns: &[Turn]) -> f64 {
        let turns: Vec<Turn> = turns.iter().map(|turn| Turn { user: true, ..*turn }).collect();
        let params = Params { min_turns: 0, ..self.params.clone() };
        Formula { profile: Profile::Floodmark, params: &params, weights: &self.weights }.score(&turns, false).score
    }

    /// Whether a score blocks.
    pub fn blocks(&self, score: f64) -> bool {
        score >= self.params.tau - SCORE_TOLERANCE
    }
}

/// What the paper's formula without resampling takes of all turns so far.
#[derive(Clone, Copy, Debug, Default)]
struct Whole {
    turns: usize,
    users: usize,
    peak: f64,
    hits: usize,
    categories: u32,
    /// The last scores, the latest one last.
    last: [f64; ESCALATION_MIN_TURNS],
}

impl Whole {
    fn push(&mut self, turn: &Turn, weights: &[f64]) {
        let hit = weights.iter().enumerate().filter(|(category, _)| turn.categories >> category & 1 == 1);
        let score = hit.fold(0.0, |sum, (_, weight)| sum + weight).min(1.0);
        self.turns += 1;
        self.users += usize::from(turn.user);
        self.peak = self.peak.max(score);
        self.hits += usize::from(score > 0.0);
        self.categories |= turn.categories;
        self.last.rotate_left(1);
        self.last[ESCALATION_MIN_TURNS - 1] = score;
    }

    /// The score; the share of hits is taken of at least `window_min_turns`.
    fn value(&self, params: &Params) -> f64 {
        let ratio = self.hits as f64 / self.turns.max(params.window_min_turns as usize) as f64;
        let diversity = f64::from(self.categories.count_ones().saturating_sub(1)) * params.delta;
        let rises = self.turns >= ESCALATION_MIN_TURNS && self.last.windows(2).all(|pair| pair[0] < pair[1]);
        self.peak + ratio * params.rho + diversity + if params.escalation && rises { params.beta_e } else { 0.0 }
    }
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
        }

        /// Of any requests: what is read once gives what each request judged alone gives.
        #[test]
        fn the_highest_of_all_requests_is_that_of_each(turns in proptest::collection::vec((any::<bool>(), 0_u32..16, any::<bool>()), 1..90)) {
            let is_end: Vec<bool> = turns.iter().map(|(.., end)| *end).collect();
            let turns: Vec<Turn> = turns.into_iter().map(|(user, categories, _)| Turn { user, categories: categories & categories >> 2 }).collect();
            let mut kept = case(turns.clone());
            kept.chats[0].ends.retain(|end| is_end[end - 1]);
            for (scoring, profile) in [(Scoring::paper(), Profile::Paper), (Scoring::floodmark(), Profile::Floodmark)] {
                let each = kept.chats[0].ends.iter().map(|end| formula(profile, &turns[..*end]).score);
                prop_assert!((scoring.highest(&kept) - each.fold(0.0, f64::max)).abs() < 1e-12, "{profile:?} {turns:?}");
            }
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

    /// A conversation of 40,000 user messages: judged request by request, each with the whole history, it would be 800 million turns.
    #[test]
    fn long_conversations_take_no_longer_than_their_turns() {
        let strong = 1 << weights().iter().position(|weight| *weight == 0.5).unwrap();
        let mut turns = vec![Turn { user: true, categories: 0 }; 40_000];
        turns[20_000..20_002].fill(Turn { user: true, categories: strong });
        let kept = case(turns);
        // Two hits of the last four turns: .5 + .45 / 2; of 20,002: .5 + .45 * 2 / 20,002.
        assert!((Scoring::floodmark().highest(&kept) - 0.725).abs() < 1e-9);
        assert!((Scoring::paper().highest(&kept) - (0.5 + 0.9 / 20_002.0)).abs() < 1e-9);
        // Counted, not timed: twelve turns a request, the eleven before it and its own.
        let looked_at: usize = (1..=40_000).map(|end| Scoring::floodmark().newest(end - 1, end).len()).sum();
        assert_eq!(looked_at, (1..12).sum::<usize>() + (40_000 - 11) * 12);
    }

    #[test]
    fn resampling_adds_at_the_last_request_in_the_paper_only() {
        let mut kept = case(vec![Turn { user: true, categories: 0 }; 4]);
        kept.chats[0].resampling = [true, true];
        assert_eq!((Scoring::paper().at_the_end(&kept), Scoring::floodmark().at_the_end(&kept)), (0.7, 0.0));
        assert!(Scoring::paper().blocks(0.7));
    }
}
