//! Verdicts and actions: what is judged, and what the proxy does about it (DESIGN.md 11, one table for JSON, metrics, logs and docs).

/// The judgement, in rising order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing to say.
    #[default]
    Allow,
    /// Worth a log line.
    Flag,
    /// Passes, and whoever is behind the gateway should know.
    Label,
    /// Should not pass before somebody with the right to say so has approved it.
    Ask,
    /// Should not pass.
    Block,
}

impl Verdict {
    /// Every verdict that this version gives, in rising order.
    pub const ALL: [Verdict; 5] = [Verdict::Allow, Verdict::Flag, Verdict::Label, Verdict::Ask, Verdict::Block];

    /// Its name everywhere.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Flag => "flag",
            Verdict::Label => "label",
            Verdict::Ask => "ask",
            Verdict::Block => "block",
        }
    }
}

/// What the proxy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Lets it pass.
    Continue,
    /// Lets it pass and says so to whoever is behind it.
    Label,
    /// Takes the offending turns' text out and lets the rest pass.
    Redact,
    /// Answers in the upstream's place.
    Reject,
}

impl Action {
    /// Its name everywhere.
    pub const fn name(self) -> &'static str {
        match self {
            Action::Continue => "continue",
            Action::Label => "label",
            Action::Redact => "redact",
            Action::Reject => "reject",
        }
    }
}
