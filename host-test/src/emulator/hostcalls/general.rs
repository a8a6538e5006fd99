//! Host functions that concern no stream: log, clock, ticks, contexts.

use super::super::abi::{LogLevel, Status};
use super::super::host::LogLine;
use super::super::options::Capability;
use super::{Call, Fail};

pub(super) fn log(call: &mut Call, [level, at, len]: [u64; 3]) -> Result<(), Fail> {
    call.host().require(Capability::Logging)?;
    let level = LogLevel::from_number(level)?;
    let text = call.text(at, len)?;
    let host = call.host();
    if level >= host.options.log_level {
        host.logs.push(LogLine { level, text });
    }
    Ok(())
}

pub(super) fn log_level(call: &mut Call, [out]: [u64; 1]) -> Result<(), Fail> {
    call.host().require(Capability::Logging)?;
    let level = call.host().options.log_level as u32;
    call.write(out, &level.to_le_bytes())
}

pub(super) fn time(call: &mut Call, [out]: [u64; 1]) -> Result<(), Fail> {
    let now_ns = call.host().options.now_ns;
    call.write(out, &now_ns.to_le_bytes())
}

pub(super) fn tick_period(call: &mut Call, [period_ms]: [u64; 1]) -> Result<(), Fail> {
    call.host().require(Capability::Ticks)?;
    call.host().tick_ms = period_ms as u32;
    Ok(())
}

pub(super) fn effective_context(call: &mut Call, [id]: [u64; 1]) -> Result<(), Fail> {
    let host = call.host();
    let id = id as u32;
    if id != host.root && !host.streams.contains_key(&id) {
        return Err(Status::BadArgument.into());
    }
    host.effective = Some(id);
    Ok(())
}

/// A stream's end does not wait for the plugin in Envoy, so there is nothing to release.
pub(super) fn done(_: &mut Call, []: [u64; 0]) -> Result<(), Fail> {
    Err(Status::NotFound.into())
}
