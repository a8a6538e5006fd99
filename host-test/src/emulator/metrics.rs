//! Counters, gauges and histograms as the plugin defines and moves them.

use std::collections::BTreeMap;

use super::abi::Status;

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

/// All metrics of one plugin. A name defined twice is one metric, as in Envoy.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    ids: Vec<(u64, String)>,
    values: BTreeMap<(String, u64), Metric>,
}

impl Metrics {
    pub(super) fn define(&mut self, kind: u64, name: String) -> Result<u32, Status> {
        let fresh = match kind {
            0 => Metric::Counter(0),
            1 => Metric::Gauge(0),
            2 => Metric::Histogram(Vec::new()),
            _ => return Err(Status::BadArgument),
        };
        self.values.entry((name.clone(), kind)).or_insert(fresh);
        self.ids.push((kind, name));
        Ok(self.ids.len() as u32)
    }

    pub(super) fn increment(&mut self, id: u64, offset: i64) -> Result<(), Status> {
        match self.by_id(id)? {
            Metric::Counter(value) => {
                let step = u64::try_from(offset).ok().filter(|&step| step > 0).ok_or(Status::BadArgument)?;
                *value = value.wrapping_add(step);
            }
            Metric::Gauge(value) => *value = value.wrapping_add_signed(offset),
            Metric::Histogram(_) => return Err(Status::BadArgument),
        }
        Ok(())
    }

    pub(super) fn record(&mut self, id: u64, new: u64) -> Result<(), Status> {
        match self.by_id(id)? {
            // Envoy adds here too, and so does not set a counter.
            Metric::Counter(value) => *value = value.wrapping_add(new),
            Metric::Gauge(value) => *value = new,
            Metric::Histogram(values) => values.push(new),
        }
        Ok(())
    }

    pub(super) fn get(&mut self, id: u64) -> Result<u64, Status> {
        match self.by_id(id)? {
            Metric::Counter(value) | Metric::Gauge(value) => Ok(*value),
            Metric::Histogram(_) => Err(Status::BadArgument),
        }
    }

    pub(super) fn by_name(&self) -> impl Iterator<Item = (&str, &Metric)> {
        self.values.iter().map(|((name, _), metric)| (name.as_str(), metric))
    }

    fn by_id(&mut self, id: u64) -> Result<&mut Metric, Status> {
        let index = usize::try_from(id).ok().and_then(|id| id.checked_sub(1)).ok_or(Status::NotFound)?;
        let (kind, name) = self.ids.get(index).ok_or(Status::NotFound)?;
        self.values.get_mut(&(name.clone(), *kind)).ok_or(Status::NotFound)
    }
}
