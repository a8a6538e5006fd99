//! Compiles patterns to one dense automaton and lays it out as the core's static rows.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use floodmark_core::score::automaton::Automaton;
use floodmark_core::score::category::{CategoryInfo, CategorySet, PatternInfo};
use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::{start, syntax};
use regex_automata::{Anchored, MatchKind};

use super::AUTOMATA_BUDGET_BYTES;
use super::rules::{Category, Pattern};

/// Memory that making one automaton may take; a runaway pattern ends here and not in minutes of work.
const BUILD_LIMIT_BYTES: usize = 32 << 20;

/// The rules and the tables made from them.
pub struct Compiled {
    /// In table order.
    pub categories: Vec<Category>,
    tables: Tables,
    fingerprint: String,
}

/// An [`Automaton`]'s tables, owned; the fields are the same.
struct Tables {
    classes: [u8; 256],
    end_class: u8,
    stride: u16,
    transitions: Vec<u16>,
    start: u16,
    start_after_word: u16,
    first_match: u16,
    match_offsets: Vec<u16>,
    match_patterns: Vec<u16>,
}

impl Compiled {
    /// Compiles the patterns of `categories`.
    ///
    /// # Errors
    /// The pattern with which the automaton outgrew its budget.
    pub fn new(categories: Vec<Category>) -> Result<Self> {
        let patterns: Vec<_> = categories.iter().flat_map(|category| &category.patterns).collect();
        let tables = match Tables::new(&patterns) {
            Ok(tables) => tables,
            Err(error) => return Err(error.context(blame(&patterns))),
        };
        let mut compiled = Compiled { categories, tables, fingerprint: String::new() };
        compiled.fingerprint = compiled.with_set(super::emit::digest);
        compiled.fingerprint.truncate(16);
        Ok(compiled)
    }

    /// Calls `run` with the rules as the core sees them.
    pub fn with_set<T>(&self, run: impl FnOnce(&CategorySet<'_>) -> T) -> T {
        let categories: Vec<_> =
            self.categories.iter().map(|category| CategoryInfo { name: &category.name, weight: category.weight }).collect();
        let patterns: Vec<_> = (0u8..)
            .zip(&self.categories)
            .flat_map(|(number, category)| category.patterns.iter().map(move |pattern| (number, pattern)))
            .map(|(category, pattern)| PatternInfo { id: &pattern.id, category, longest_bytes: pattern.shape.longest_bytes })
            .collect();
        let automaton = self.tables.automaton();
        run(&CategorySet { categories: &categories, patterns: &patterns, automaton, fingerprint: &self.fingerprint })
    }
}

impl Tables {
    fn automaton(&self) -> Automaton<'_> {
        Automaton {
            classes: &self.classes,
            end_class: self.end_class,
            stride: self.stride,
            transitions: &self.transitions,
            start: self.start,
            start_after_word: self.start_after_word,
            first_match: self.first_match,
            match_offsets: &self.match_offsets,
            match_patterns: &self.match_patterns,
        }
    }

    fn new(patterns: &[&Pattern]) -> Result<Self> {
        let tables = Self::lay_out(&determinise(patterns)?)?;
        let (automaton, budget) = (tables.automaton(), AUTOMATA_BUDGET_BYTES);
        let (size, states, kinds) = (automaton.size_bytes(), automaton.states(), automaton.stride);
        ensure!(size <= budget, "{size} of {budget} bytes: {states} states with a column for each of {kinds} kinds of byte");
        Ok(tables)
    }

    /// Numbers the reachable states (dead first, match states last) and merges byte values that no state tells apart.
    fn lay_out(dfa: &dense::DFA<Vec<u32>>) -> Result<Self> {
        let (text_start, word_start) = starts(dfa)?;
        let found = reachable(dfa, [text_start, word_start])?;
        let (matching, plain): (Vec<_>, Vec<_>) = found.into_iter().partition(|&state| dfa.is_match_state(state));
        let order: Vec<_> = plain.iter().chain(&matching).copied().collect();
        let numbers: BTreeMap<_, _> = order.iter().copied().zip(0u16..).collect();
        ensure!(numbers.len() == order.len(), "more than 65,536 states");
        let number = |state: StateID| numbers.get(&state).copied().context("a state was not reached");

        let mut columns: BTreeMap<Vec<StateID>, u8> = BTreeMap::new();
        let mut representatives = Vec::new();
        let mut classes = [0; 256];
        for (byte, class) in (0u8..=255).zip(&mut classes) {
            let column: Vec<_> = order.iter().map(|&state| dfa.next_state(state, byte)).collect();
            let next = u8::try_from(columns.len())?;
            *class = *columns.entry(column).or_insert(next);
            if *class == next {
                representatives.push(byte);
            }
        }
        let end_class = u8::try_from(columns.len())?;
        let stride = columns.len() + 1;
        let mut transitions = Vec::with_capacity(order.len() * stride);
        for &state in &order {
            for &byte in &representatives {
                transitions.push(number(dfa.next_state(state, byte))?);
            }
            transitions.push(number(dfa.next_eoi_state(state))?);
        }
        let mut match_offsets = vec![0];
        let mut match_patterns = Vec::new();
        for &state in &matching {
            let ended = (0..dfa.match_len(state)).map(|at| u16::try_from(dfa.match_pattern(state, at).as_usize()));
            let mut ended = ended.collect::<Result<Vec<_>, _>>()?;
            ended.sort_unstable();
            match_patterns.extend(ended);
            match_offsets.push(u16::try_from(match_patterns.len())?);
        }
        Ok(Tables {
            classes,
            end_class,
            stride: u16::try_from(stride)?,
            transitions,
            start: number(text_start)?,
            start_after_word: number(word_start)?,
            first_match: u16::try_from(plain.len())?,
            match_offsets,
            match_patterns,
        })
    }
}

fn determinise(patterns: &[&Pattern]) -> Result<dense::DFA<Vec<u32>>> {
    let wrapped: Vec<_> = patterns.iter().map(|pattern| pattern.shape.wrap(&pattern.pattern, r"(?-u:\b)")).collect();
    let config = dense::Config::new()
        .match_kind(MatchKind::All)
        .start_kind(StartKind::Unanchored)
        .minimize(true)
        .accelerate(false)
        .dfa_size_limit(Some(BUILD_LIMIT_BYTES))
        .determinize_size_limit(Some(BUILD_LIMIT_BYTES));
    let built = dense::Builder::new()
        .configure(config)
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .thompson(thompson::Config::new().utf8(false))
        .build_many(&wrapped);
    built.context("the automaton cannot be built")
}

/// The start states at a text's begin (or behind a byte that is no letter, digit or underscore) and behind one that is.
fn starts(dfa: &dense::DFA<Vec<u32>>) -> Result<(StateID, StateID)> {
    let start = |before: Option<u8>| dfa.start_state(&start::Config::new().anchored(Anchored::No).look_behind(before));
    let text = start(None)?;
    for before in [b' ', b'\n', b'\r', b'.', 0, 0xff] {
        ensure!(start(Some(before))? == text, "the automaton tells byte {before} before a text from the text's begin");
    }
    Ok((text, start(Some(b'a'))?))
}

/// States that can be reached from `starts`, the dead state first, in order of first sight.
fn reachable(dfa: &dense::DFA<Vec<u32>>, starts: [StateID; 2]) -> Result<Vec<StateID>> {
    ensure!(dfa.is_dead_state(StateID::ZERO), "this version of regex-automata numbers the dead state otherwise");
    let mut order = vec![StateID::ZERO];
    let mut seen: BTreeSet<StateID> = order.iter().copied().collect();
    let mut at = 0;
    order.extend(starts.into_iter().filter(|&state| seen.insert(state)));
    while let Some(&state) = order.get(at) {
        ensure!(!dfa.is_quit_state(state), "the automaton gives up on some bytes; a pattern must be ASCII");
        let next = (0..=255).map(|byte| dfa.next_state(state, byte)).chain([dfa.next_eoi_state(state)]);
        order.extend(next.filter(|&state| seen.insert(state)));
        at += 1;
    }
    Ok(order)
}

/// Says which pattern, in order, is the first with which the automaton cannot be made within its budget.
fn blame(patterns: &[&Pattern]) -> String {
    let fits = |count: usize| patterns.get(..count).is_some_and(|some| Tables::new(some).is_ok());
    let (mut good, mut bad) = (0, patterns.len());
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if fits(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    let id = patterns.get(good).map_or("", |pattern| &pattern.id);
    let limit = AUTOMATA_BUDGET_BYTES / 1000;
    format!("pattern {id:?} made the automaton exceed {limit} KB: cut it into shorter patterns or take optional words out of it")
}
