//! Counters, gauges and histograms as the plugin defines and moves them.

use super::abi::Status;
use super::process::Process;

/// One metric and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Only grows.
    Counter(u64),
    /// Goes up and down.
    Gauge(u64),
    /// Every value recorded, in order.
    Histogram(Vec<u64>),
}

/// The metrics that one VM defined, by number; where they stand is the process's affair, so a name defined twice is one metric.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    ids: Vec<(String, u64)>,
}

impl Metrics {
    pub(super) fn define(&mut self, process: &Process, kind: u64, name: String) -> Result<u32, Status> {
        let fresh = match kind {
            0 => Metric::Counter(0),
            1 => Metric::Gauge(0),
            2 => Metric::Histogram(Vec::new()),
            _ => return Err(Status::BadArgument),
        };
        process.metrics(|values| {
            values.entry((name.clone(), kind)).or_insert(fresh);
        });
        self.ids.push((name, kind));
        Ok(self.ids.len() as u32)
    }

    pub(super) fn increment(&self, process: &Process, id: u64, offset: i64) -> Result<(), Status> {
        self.with(process, id, |metric| {
            match metric {
                Metric::Counter(value) => {
                    let step = u64::try_from(offset).ok().filter(|&step| step > 0).ok_or(Status::BadArgument)?;
                    *value = value.wrapping_add(step);
                }
                Metric::Gauge(value) => *value = value.wrapping_add_signed(offset),
                Metric::Histogram(_) => return Err(Status::BadArgument),
            }
            Ok(())
        })
    }

    pub(super) fn record(&self, process: &Process, id: u64, new: u64) -> Result<(), Status> {
        self.with(process, id, |metric| {
            match metric {
                // Envoy adds here too, and so does not set a counter.
                Metric::Counter(value) => *value = value.wrapping_add(new),
                Metric::Gauge(value) => *value = new,
                Metric::Histogram(values) => values.push(new),
            }
            Ok(())
        })
    }

    pub(super) fn get(&self, process: &Process, id: u64) -> Result<u64, Status> {
        self.with(process, id, |metric| match metric {
            Metric::Counter(value) | Metric::Gauge(value) => Ok(*value),
            Metric::Histogram(_) => Err(Status::BadArgument),
        })
    }

    fn with<R>(&self, process: &Process, id: u64, work: impl FnOnce(&mut Metric) -> Result<R, Status>) -> Result<R, Status> {
        let index = usize::try_from(id).ok().and_then(|id| id.checked_sub(1)).ok_or(Status::NotFound)?;
        let key = self.ids.get(index).ok_or(Status::NotFound)?;
        process.metrics(|values| values.get_mut(key).ok_or(Status::NotFound).and_then(work))
    }
}
