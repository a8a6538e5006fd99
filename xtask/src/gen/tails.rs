//! Makes the automaton that reads the last pieces of all patterns from their ends.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use floodmark_core::score::letters::is_separator;
use floodmark_core::score::tails::{Tails, WHOLE};
use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir, HirKind, Repetition};

use super::subset::class_bytes;

/// Memory that making the automaton may take; a runaway pattern ends here and not in minutes of work.
const BUILD_LIMIT_BYTES: usize = 64 << 20;

/// A [`Tails`]'s tables, owned; the fields are the same.
#[derive(Default)]
pub struct Tables {
    states: Vec<u16>,
    labels: Vec<u16>,
    lengths: Vec<u8>,
    targets: Vec<u16>,
    letters: Vec<u8>,
    wholes: Vec<u16>,
    offsets: Vec<u16>,
    patterns: Vec<u16>,
}

impl Tables {
    /// The tables for the last pieces of all patterns, in table order.
    ///
    /// # Errors
    /// They are too large to be made, or for their numbers.
    pub fn new(pieces: &[&Hir]) -> Result<Self> {
        let reversed: Vec<_> = pieces.iter().map(|piece| reversed_letters(piece)).collect();
        let nfa = thompson::Compiler::new().configure(thompson::Config::new().utf8(false)).build_many_from_hir(&reversed)?;
        let config = dense::Config::new()
            .match_kind(MatchKind::All)
            .start_kind(StartKind::Anchored)
            .accelerate(false)
            .dfa_size_limit(Some(BUILD_LIMIT_BYTES))
            .determinize_size_limit(Some(BUILD_LIMIT_BYTES));
        let dfa = dense::Builder::new().configure(config).build_from_nfa(&nfa).context("the automaton cannot be built")?;
        Machine::new(&dfa)?.lay_out()
    }

    /// Adds an edge; its letters may stand in others' already.
    fn edge(&mut self, label: &[u8], target: u16) -> Result<()> {
        let known = self.letters.windows(label.len()).position(|letters| letters == label);
        let from = known.unwrap_or(self.letters.len());
        if known.is_none() {
            self.letters.extend_from_slice(label);
        }
        self.labels.push(u16::try_from(from).context("more than 65,535 letters")?);
        self.lengths.push(u8::try_from(label.len())?);
        self.targets.push(target);
        Ok(())
    }

    /// The tables as the core sees them.
    pub fn tails(&self) -> Tails<'_> {
        let Tables { states, labels, lengths, targets, letters, wholes, offsets, patterns } = self;
        Tails { states, labels, lengths, targets, letters, wholes, offsets, patterns }
    }
}

/// What `hir` matches, letters and digits only and from the end to the start.
fn reversed_letters(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Hir::empty(),
        HirKind::Literal(literal) => Hir::literal(literal.0.iter().rev().copied().filter(|&byte| !is_separator(byte)).collect::<Vec<_>>()),
        HirKind::Class(class) => {
            let (separators, letters): (Vec<_>, Vec<_>) = class_bytes(class).into_iter().partition(|&byte| is_separator(byte));
            let letters = Hir::class(Class::Bytes(ClassBytes::new(letters.iter().map(|&byte| ClassBytesRange::new(byte, byte)))));
            if separators.is_empty() { letters } else { Hir::alternation(vec![letters, Hir::empty()]) }
        }
        HirKind::Repetition(repetition) => {
            Hir::repetition(Repetition { sub: Box::new(reversed_letters(&repetition.sub)), ..repetition.clone() })
        }
        HirKind::Capture(capture) => reversed_letters(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().rev().map(reversed_letters).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(reversed_letters).collect()),
    }
}

/// The automaton with its matches at the letter that ends them, and without states that no text tells apart.
struct Machine {
    /// By state: letters, and where they lead.
    edges: Vec<Vec<(u8, usize)>>,
    /// The patterns whose piece is whole in each state.
    wholes: Vec<Vec<u16>>,
}

impl Machine {
    fn new(dfa: &dense::DFA<Vec<u32>>) -> Result<Self> {
        let start = dfa.start_state(&start::Config::new().anchored(Anchored::Yes))?;
        let mut order = vec![start];
        let mut numbers = BTreeMap::from([(start, 0)]);
        let mut machine = Machine { edges: Vec::new(), wholes: Vec::new() };
        let mut at = 0;
        while let Some(&state) = order.get(at) {
            at += 1;
            let mut edges = Vec::new();
            for letter in (b'0'..=b'9').chain(b'a'..=b'z') {
                let next = dfa.next_state(state, letter);
                // A state that only reports, one letter late, what was whole before leads nowhere.
                if dfa.is_dead_state(next) || leads_nowhere(dfa, next) {
                    continue;
                }
                let number = *numbers.entry(next).or_insert_with(|| {
                    order.push(next);
                    order.len() - 1
                });
                edges.push((letter, number));
            }
            machine.edges.push(edges);
            machine.wholes.push(whole(dfa, state)?);
        }
        Ok(machine.minimised())
    }

    /// Merges states that report the same and whose next states do too, until nothing changes (Moore's algorithm).
    fn minimised(self) -> Machine {
        let mut groups = number(self.wholes.iter());
        let mut count = 0;
        while groups.iter().max().map_or(0, |most| most + 1) > count {
            count = groups.iter().max().map_or(0, |most| most + 1);
            let ways = |edges: &Vec<(u8, usize)>| edges.iter().map(|&(letter, to)| (letter, groups[to])).collect::<Vec<_>>();
            let keys: Vec<_> = groups.iter().zip(&self.edges).map(|(group, edges)| (*group, ways(edges))).collect();
            groups = number(keys.iter());
        }
        let mut machine = Machine { edges: vec![Vec::new(); count], wholes: vec![Vec::new(); count] };
        for ((group, edges), wholes) in groups.iter().zip(&self.edges).zip(self.wholes) {
            machine.edges[*group] = edges.iter().map(|&(letter, to)| (letter, groups[to])).collect();
            machine.wholes[*group] = wholes;
        }
        machine
    }

    /// The tables, every state before those that it leads to, and no state that has one way on and nothing to report.
    fn lay_out(&self) -> Result<Tables> {
        let mut order = Vec::new();
        self.visit(0, &mut vec![false; self.edges.len()], &mut order);
        order.reverse();
        order.retain(|&state| state == 0 || !self.is_on_the_way(state));
        let mut numbers = vec![0u16; self.edges.len()];
        for (number, &state) in order.iter().enumerate() {
            numbers[state] = u16::try_from(number).ok().filter(|&number| number < WHOLE).context("more than 32,767 states")?;
        }
        let mut tables = Tables { states: vec![0], offsets: vec![0], ..Tables::default() };
        for &state in &order {
            for &(letter, mut to) in &self.edges[state] {
                let mut label = vec![letter];
                while self.is_on_the_way(to) {
                    let (letter, next) = self.edges[to][0];
                    label.push(letter);
                    to = next;
                }
                let whole = if self.wholes[to].is_empty() { 0 } else { WHOLE };
                tables.edge(&label, numbers[to] | whole)?;
            }
            tables.states.push(u16::try_from(tables.targets.len()).context("more than 65,535 edges")?);
            if !self.wholes[state].is_empty() {
                tables.wholes.push(numbers[state]);
                tables.patterns.extend(&self.wholes[state]);
                tables.offsets.push(u16::try_from(tables.patterns.len())?);
            }
        }
        ensure!(tables.tails().check(usize::from(u16::MAX)).is_ok(), "the automaton has a loop");
        Ok(tables)
    }

    /// Whether a state only leads to one other.
    fn is_on_the_way(&self, state: usize) -> bool {
        self.edges[state].len() == 1 && self.wholes[state].is_empty()
    }

    /// Depth first, a state behind all that it leads to. No deeper than a pattern is long.
    fn visit(&self, state: usize, seen: &mut [bool], order: &mut Vec<usize>) {
        if std::mem::replace(&mut seen[state], true) {
            return;
        }
        for &(_, to) in &self.edges[state] {
            self.visit(to, seen, order);
        }
        order.push(state);
    }
}

/// The patterns whose piece is whole in `state`: regex-automata reports them one byte late, so at the end of the text.
fn whole(dfa: &dense::DFA<Vec<u32>>, state: StateID) -> Result<Vec<u16>> {
    let late = dfa.next_eoi_state(state);
    if !dfa.is_match_state(late) {
        return Ok(Vec::new());
    }
    let ends = (0..dfa.match_len(late)).map(|at| u16::try_from(dfa.match_pattern(late, at).as_usize()));
    let mut ends = ends.collect::<Result<Vec<_>, _>>()?;
    ends.sort_unstable();
    Ok(ends)
}

fn leads_nowhere(dfa: &dense::DFA<Vec<u32>>, state: StateID) -> bool {
    !dfa.is_match_state(dfa.next_eoi_state(state)) && (0..=255).all(|byte| dfa.is_dead_state(dfa.next_state(state, byte)))
}

/// Numbers keys in order of first sight, equal ones alike.
fn number<'k, K: Ord + 'k>(keys: impl Iterator<Item = &'k K>) -> Vec<usize> {
    let mut numbers = BTreeMap::new();
    let next = |key| {
        let next = numbers.len();
        *numbers.entry(key).or_insert(next)
    };
    keys.map(next).collect()
}
