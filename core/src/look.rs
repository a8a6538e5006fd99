//! The dear part of judging: which patterns the texts of some events hold, in which view, and what the detector says of them. It depends on nothing but
//! the policy and the texts, so an event is looked at once, however often the body is judged.

use alloc::vec::Vec;

use crate::detected::Scored;
use crate::rules::RuleUse;
use crate::scan::Scanner;
use crate::text::{Decoded, Folded, View, decode};
use crate::wire::Event;

/// A pattern that an event holds.
#[derive(Clone, Debug)]
pub(crate) struct EventHit {
    pub pattern: u16,
    pub view: View,
    /// Bytes of the event's text.
    pub span: (usize, usize),
}

/// What was found in one event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Looked {
    /// Each pattern once a view, first what stands there undisguised.
    pub hits: Vec<EventHit>,
    /// What the detector says, where it is asked.
    pub scored: Option<Scored>,
    /// The text holds more in encodings than is decoded.
    pub undecoded: bool,
}

/// The texts of some events in all the forms that are looked at.
pub(crate) struct Texts<'d, 'b> {
    pub events: &'d [&'d Event<'b>],
    /// With the number of the event that each stands in, ascending.
    pub decoded: &'d [(usize, Decoded)],
    /// One of each event, then one of each decoded text.
    pub views: &'d [Folded<'d>],
}

impl Texts<'_, '_> {
    /// The event, the view to name and the bytes of the event's text that bytes of the view of this number come from.
    pub fn place(&self, number: usize, view: View, (start, end): (usize, usize)) -> Option<(usize, View, (usize, usize))> {
        let folded = self.views.get(number)?;
        let Some(decoded) = number.checked_sub(self.events.len()) else {
            let original = &self.events.get(number)?.text;
            return Some((number, view, folded.span(original, start, end)));
        };
        let (event, decoded) = self.decoded.get(decoded)?;
        let original = &self.events.get(*event)?.text;
        Some((*event, View::Decoded, decoded.span(original, folded.span(decoded.as_str(), start, end))))
    }
}

impl Scanner<'_> {
    /// Looks at events, and says whether the operator's own patterns were all looked for. Linear in the texts.
    pub fn look(&self, events: &[&Event<'_>]) -> (Vec<Looked>, bool) {
        let mut looked: Vec<Looked> = events.iter().map(|_| Looked::default()).collect();
        let folds = &self.catalog.set.folds;
        let mut decoded: Vec<(usize, Decoded)> = Vec::new();
        for (number, (event, looked)) in events.iter().zip(&mut looked).enumerate() {
            looked.undecoded = !decode(&event.text, |found| decoded.push((number, found)));
        }
        // Patterns of the operator's own want white space folded too.
        let own = self.catalog.patterns() > self.catalog.set.patterns.len();
        let view = |text| if own { Folded::new(text, folds) } else { Folded::of(text, folds) };
        let mut views: Vec<Folded<'_>> = events.iter().map(|event| view(&event.text)).collect();
        views.extend(decoded.iter().map(|(_, decoded)| view(decoded.as_str())));
        let texts = Texts { events, decoded: &decoded, views: &views };
        let whole = self.hits(&texts, &mut looked);
        if let Some(detecting) = self.detecting {
            looked.iter_mut().zip(detecting.scores(&texts)).for_each(|(looked, scored)| looked.scored = Some(scored));
        }
        (looked, whole)
    }

    fn hits(&self, texts: &Texts<'_, '_>, looked: &mut [Looked]) -> bool {
        let wanted = |pattern| self.rule_use(pattern) != RuleUse::Off;
        let mut take = |number: usize, pattern, view, start, end| {
            let Some((event, view, span)) = texts.place(number, view, (start, end)) else { return };
            looked.get_mut(event).into_iter().for_each(|looked| looked.hits.push(EventHit { pattern, view, span }));
        };
        self.catalog.set.scan(texts.views, wanted, |number, hit| take(number, hit.pattern, hit.view, hit.start, hit.end));
        let folded = texts.views.iter().map(Folded::as_str);
        self.catalog.scan_own(folded, |number, pattern, start, end| {
            if wanted(pattern) {
                take(number, pattern, View::Folded, start, end);
            }
        })
    }
}
