//! Reasons: which rule was met, and where.

use crate::rules::RuleUse;
use crate::text::View;
use crate::verdict::Verdict;
use crate::wire::Channel;

/// Why a verdict is not `allow`, or what was found on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason<'t> {
    /// The rule: `category.pattern`, `conversation.…` or `wire.…`.
    pub rule: &'t str,
    /// The pattern's category.
    pub category: Option<&'t str>,
    /// Where the text came from.
    pub channel: Option<Channel>,
    /// 0-based index in the wire's message list.
    pub turn: Option<u32>,
    /// Byte range in the event's text.
    pub span: Option<(usize, usize)>,
    /// The view that the pattern was found in, or that scored highest.
    pub view: Option<View>,
    /// Of the detector's rules: which of the text's overlapping chunks scored highest, counted from 0.
    pub chunk: Option<u32>,
    /// What it means here; `None` when it is exempt.
    pub counts_as: Option<RuleUse>,
}

impl<'t> Reason<'t> {
    /// A rule with no place in a text.
    pub fn of_rule(rule: &'t str, counts_as: Option<RuleUse>) -> Self {
        Reason { rule, category: None, channel: None, turn: None, span: None, view: None, chunk: None, counts_as }
    }
}

/// The strongest verdict that anything raised to, and the first that did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strongest<'t> {
    pub verdict: Verdict,
    pub reason: Option<Reason<'t>>,
}

impl<'t> Strongest<'t> {
    /// Takes what raises the verdict to `verdict`; what only comes up to it changes nothing.
    #[inline(never)]
    pub fn raise(&mut self, verdict: Verdict, reason: Option<&Reason<'t>>) {
        if verdict > self.verdict {
            *self = Strongest { verdict, reason: reason.cloned() };
        }
    }
}
