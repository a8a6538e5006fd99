//! Trajectory statistics of event scores: peak, CUSUM persistence and the share over the threshold ("Amplify, Don't Create"; DESIGN.md 8).

/// What the statistics are taken with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// The threshold that `frac_over_tau` counts from, inclusive.
    pub tau: f64,
    /// The reference value k of the CUSUM.
    pub drift: f64,
}

/// A score, threshold or drift that is no finite number, or a sum that left the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotFinite;

/// Why rows are no trajectory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTrajectory {
    /// Something in them is no finite number.
    NotFinite,
    /// Two rows have this position, so that their order is not known.
    SamePosition(u64),
}

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
    /// The statistics of rows of position and score in any order; sorts them by position.
    ///
    /// # Errors
    /// When a position is there twice or a number is not finite.
    pub fn of_rows(rows: &mut [(u64, f64)], params: Params) -> Result<Self, NoTrajectory> {
        rows.sort_unstable_by_key(|&(position, _)| position);
        let mut trajectory = Self::default();
        let mut before = None;
        for &(position, score) in &*rows {
            if before.replace(position) == Some(position) {
                return Err(NoTrajectory::SamePosition(position));
            }
            trajectory.push(score, params).map_err(|NotFinite| NoTrajectory::NotFinite)?;
        }
        Ok(trajectory)
    }

    /// The statistics with these numbers, as they were stored.
    pub(crate) fn stored([events, over]: [u32; 2], [peak, cusum, persistence]: [f64; 3]) -> Self {
        Trajectory { events, over, peak, cusum, persistence }
    }

    /// Leaves a part of the CUSUM, 0 to 1. What was its highest stays.
    pub(crate) fn fade(&mut self, left: f64) {
        self.cusum *= left;
    }

    /// Takes the next event's score and gives the CUSUM after it: g = max(0, g + (score - drift)), from g = 0.
    ///
    /// # Errors
    /// When the score, the threshold or the drift is no finite number; nothing is taken then.
    pub fn push(&mut self, score: f64, params: Params) -> Result<f64, NotFinite> {
        // The difference comes first: a score at the drift then adds exactly nothing. A score or a drift that is not finite makes the sum so.
        let sum = self.cusum + (score - params.drift);
        if !sum.is_finite() || !params.tau.is_finite() {
            return Err(NotFinite);
        }
        self.peak = if self.events == 0 { score } else { self.peak.max(score) };
        self.events = self.events.saturating_add(1);
        self.over = self.over.saturating_add(u32::from(score >= params.tau));
        self.cusum = sum.max(0.0);
        self.persistence = self.persistence.max(self.cusum);
        Ok(self.cusum)
    }

    /// Number of events.
    pub fn events(&self) -> u32 {
        self.events
    }

    /// Number of events at or over the threshold.
    pub fn over(&self) -> u32 {
        self.over
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
