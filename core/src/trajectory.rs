//! Trajectory statistics of event scores: peak, CUSUM persistence and the share over the threshold ("Amplify, Don't Create"; DESIGN.md 8).

/// What the statistics are taken with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// The threshold that `frac_over_tau` counts from, inclusive.
    pub tau: f64,
    /// The reference value k of the CUSUM.
    pub drift: f64,
}

/// A score that is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotFinite;

/// The statistics of the events so far, in order of position. Its state does not grow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trajectory {
    events: u32,
    over: u32,
    peak: f64,
    cusum: f64,
    persistence: f64,
}

impl Trajectory {
    /// Takes the next event's score and gives the CUSUM after it: g = max(0, g + score - drift).
    ///
    /// # Errors
    /// When the score is no finite number; nothing is taken then.
    pub fn push(&mut self, score: f64, params: Params) -> Result<f64, NotFinite> {
        if !score.is_finite() {
            return Err(NotFinite);
        }
        self.events = self.events.saturating_add(1);
        self.over = self.over.saturating_add(u32::from(score >= params.tau));
        self.peak = self.peak.max(score);
        self.cusum = (self.cusum + score - params.drift).max(0.0);
        self.persistence = self.persistence.max(self.cusum);
        Ok(self.cusum)
    }

    /// Number of events.
    pub fn events(&self) -> u32 {
        self.events
    }

    /// The highest score; 0 of no events.
    pub fn peak(&self) -> f64 {
        self.peak
    }

    /// The CUSUM after the last event.
    pub fn cusum(&self) -> f64 {
        self.cusum
    }

    /// The highest CUSUM.
    pub fn persistence(&self) -> f64 {
        self.persistence
    }

    /// Share of events at or over the threshold; 0 of no events.
    pub fn frac_over_tau(&self) -> f64 {
        if self.events == 0 { 0.0 } else { f64::from(self.over) / f64::from(self.events) }
    }
}
