//! Verdicts and actions: what is judged, and what the proxy does about it (DESIGN.md 11, one table for JSON, metrics, logs and docs).

/// The judgement, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing to say.
    Allow,
    /// Worth a log line.
    Flag,
    /// Should not pass.
    Block,
}

impl Verdict {
    /// Every verdict that this version gives, in rising order.
    pub const ALL: [Verdict; 3] = [Verdict::Allow, Verdict::Flag, Verdict::Block];

    /// Its name everywhere.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Flag => "flag",
            Verdict::Block => "block",
        }
    }
}

/// What the proxy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Lets it pass.
    Continue,
    /// Answers in the upstream's place.
    Reject,
}

impl Action {
    /// Its name everywhere.
    pub const fn name(self) -> &'static str {
        match self {
            Action::Continue => "continue",
            Action::Reject => "reject",
        }
    }
}
