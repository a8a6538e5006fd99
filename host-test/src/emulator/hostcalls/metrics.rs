//! Host functions on metrics.

use super::super::options::Capability;
use super::{Call, Fail};

pub(super) fn define(call: &mut Call, [kind, name, name_len, out]: [u64; 4]) -> Result<(), Fail> {
    call.host().require(Capability::Metrics)?;
    let name = call.text(name, name_len)?;
    let host = call.host();
    let id = host.metrics.define(&host.process, kind, name)?;
    call.write(out, &id.to_le_bytes())
}

pub(super) fn increment(call: &mut Call, [id, offset]: [u64; 2]) -> Result<(), Fail> {
    call.host().require(Capability::Metrics)?;
    let host = call.host();
    Ok(host.metrics.increment(&host.process, id, offset.cast_signed())?)
}

pub(super) fn record(call: &mut Call, [id, value]: [u64; 2]) -> Result<(), Fail> {
    call.host().require(Capability::Metrics)?;
    let host = call.host();
    Ok(host.metrics.record(&host.process, id, value)?)
}

pub(super) fn get(call: &mut Call, [id, out]: [u64; 2]) -> Result<(), Fail> {
    call.host().require(Capability::Metrics)?;
    let host = call.host();
    let value = host.metrics.get(&host.process, id)?;
    call.write(out, &value.to_le_bytes())
}
