//! What is looked for: the built-in patterns and the operator's own, under one numbering.

use alloc::string::String;
use alloc::vec::Vec;

use crate::conversation::Turn;
use crate::detector::Detector;
use crate::hash::Fnv1a;
#[cfg(feature = "operator-patterns")]
use crate::operator::{self, OperatorPatterns};
use crate::policy::{Policy, PolicyError};
use crate::score::CategorySet;
use crate::tables::Tables;
#[cfg(feature = "operator-patterns")]
use crate::text::Folded;

/// A pattern, whoever wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known<'c> {
    /// Its rule id.
    pub id: &'c str,
    /// Number of its category: those of the set first, then those that only the operator's patterns have.
    pub category: usize,
    pub category_name: &'c str,
}

/// All patterns of a policy. The built-in ones have the first numbers.
#[derive(Clone, Debug)]
pub(crate) struct Catalog<'t> {
    pub set: &'t CategorySet<'t>,
    /// Categories that only the operator's patterns have.
    own_categories: Vec<String>,
    #[cfg(feature = "operator-patterns")]
    operator: OperatorPatterns,
    /// The ids of the detector's rules, in the order of [`crate::Detector::rules`]; none without a detector.
    pub detector_rules: Vec<String>,
}

#[inline(never)]
fn detector_rules(tables: &Tables<'_>) -> Vec<String> {
    let names = tables.detector.map_or(Vec::new(), Detector::rules);
    let mut rules = Vec::new();
    for name in names {
        let mut rule = String::from("detector.");
        rule.push_str(name);
        rules.push(rule);
    }
    rules
}

impl<'t> Catalog<'t> {
    /// # Errors
    /// A pattern of the policy that cannot be used, with its key.
    #[cfg(feature = "operator-patterns")]
    pub fn new(policy: &Policy, tables: &Tables<'t>) -> Result<Self, PolicyError> {
        let set = tables.categories;
        let fold = |text: &str| String::from(Folded::new(text, &set.folds).as_str());
        let operator = OperatorPatterns::new(&policy.patterns, fold)?;
        Ok(Catalog { set, own_categories: operator::new_categories(policy, set)?, operator, detector_rules: detector_rules(tables) })
    }

    /// # Errors
    /// None: nobody has patterns of their own.
    #[cfg(not(feature = "operator-patterns"))]
    pub fn new(_: &Policy, tables: &Tables<'t>) -> Result<Self, PolicyError> {
        Ok(Catalog { set: tables.categories, own_categories: Vec::new(), detector_rules: detector_rules(tables) })
    }

    /// Each category's weight, by its number, after every number of the policy was checked.
    ///
    /// # Errors
    /// The first key whose value is out of its range, or a weight for a category that nobody has.
    pub fn weights(&self, policy: &Policy) -> Result<Vec<f64>, PolicyError> {
        let built_in = self.set.categories.iter().map(|category| (category.name, category.weight));
        // A category of the operator's own has its weight in the policy; that was checked.
        let own = self.own_categories.iter().map(|name| (name.as_str(), 0.0));
        policy.weights(&built_in.chain(own).collect::<Vec<_>>())
    }

    /// How many patterns there are.
    pub fn patterns(&self) -> usize {
        self.set.patterns.len() + self.own_patterns()
    }

    /// The rule ids of all patterns, in the order of their numbers.
    pub fn ids(&self) -> Vec<&str> {
        let mut ids = Vec::new();
        for pattern in self.set.patterns {
            ids.push(pattern.id);
        }
        for own in (0..self.own_patterns()).filter_map(|number| self.own(number)) {
            ids.push(own.id);
        }
        ids
    }

    /// What the rule ids of patterns begin with, before the dot.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        let own = self.own(0).and_then(|pattern| pattern.id.split('.').next());
        self.set.categories.iter().map(|category| category.name).chain(own)
    }

    /// The pattern of this number.
    pub fn known(&self, pattern: u16) -> Option<Known<'_>> {
        let number = usize::from(pattern);
        let Some(own) = number.checked_sub(self.set.patterns.len()) else {
            let info = self.set.patterns.get(number)?;
            let category = usize::from(info.category);
            return Some(Known { id: info.id, category, category_name: self.set.categories.get(category)?.name });
        };
        self.own(own)
    }

    /// The bit of a pattern's category in a mask of categories.
    pub fn category_bit(&self, pattern: u16) -> u32 {
        let category = self.known(pattern).and_then(|known| u32::try_from(known.category).ok());
        category.and_then(|category| 1u32.checked_shl(category)).unwrap_or(0)
    }

    /// The pattern of this number, if it has one of the categories that turns hit, or the first that has: another policy gives numbers to other patterns.
    pub fn of_mask<'n>(&self, turns: impl Iterator<Item = &'n Turn>, pattern: Option<u16>) -> Option<Known<'_>> {
        let mask = turns.fold(0, |mask, turn| mask | turn.categories);
        let has = |pattern: &u16| self.category_bit(*pattern) & mask != 0;
        let first = || (0..self.patterns()).map_while(|number| u16::try_from(number).ok()).find(has);
        self.known(pattern.filter(has).or_else(first)?)
    }

    /// A digest of the categories' names in their order.
    pub fn fingerprint(&self) -> [u8; 8] {
        let names = self.set.categories.iter().map(|category| category.name).chain(self.own_categories.iter().map(String::as_str));
        let bytes = names.flat_map(|name| name.bytes().chain([0]));
        // All zeros stand for none.
        bytes.fold(Fnv1a::EMPTY, |hash, byte| hash.with(byte)).value().max(1).to_le_bytes()
    }

    #[cfg(not(feature = "operator-patterns"))]
    fn own_patterns(&self) -> usize {
        0
    }

    #[cfg(feature = "operator-patterns")]
    fn own_patterns(&self) -> usize {
        self.operator.len()
    }

    #[cfg(not(feature = "operator-patterns"))]
    fn own(&self, _: usize) -> Option<Known<'_>> {
        None
    }

    #[cfg(feature = "operator-patterns")]
    fn own(&self, number: usize) -> Option<Known<'_>> {
        let (id, category_name) = (self.operator.id(number)?, self.operator.category(number)?);
        let built_in = self.set.categories.iter().map(|category| category.name);
        let category = built_in.chain(self.own_categories.iter().map(String::as_str)).position(|name| name == category_name)?;
        Some(Known { id, category, category_name })
    }

    /// Gives `found(text, pattern, start, end)` the operator's patterns that the folded `texts` hold, each once a text. `false` when more of
    /// them would have to be looked at than is allowed.
    #[cfg(feature = "operator-patterns")]
    pub fn scan_own<'v>(&self, texts: impl Iterator<Item = &'v str>, mut found: impl FnMut(usize, u16, usize, usize)) -> bool {
        self.operator.scan(texts, |hit| {
            if let Ok(pattern) = u16::try_from(self.set.patterns.len() + hit.pattern) {
                found(hit.text, pattern, hit.span.start, hit.span.end);
            }
        })
    }

    /// Without the feature nobody has patterns of their own.
    #[cfg(not(feature = "operator-patterns"))]
    pub fn scan_own<'v>(&self, _: impl Iterator<Item = &'v str>, _: impl FnMut(usize, u16, usize, usize)) -> bool {
        true
    }
}
