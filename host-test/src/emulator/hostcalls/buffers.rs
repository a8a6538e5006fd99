//! Host functions on bodies and on the configuration.

use super::super::abi::{Buffer, Status};
use super::super::host::Host;
use super::super::stream::{Half, Side};
use super::{Call, Fail};

pub(super) fn get(call: &mut Call, [kind, start, max, address_out, len_out]: [u64; 5]) -> Result<(), Fail> {
    let kind = Buffer::from_number(kind)?;
    let readable = readable(call.host(), kind)?;
    let start = usize::try_from(start).map_or(readable.len(), |start| start.min(readable.len()));
    let len = usize::try_from(max).map_or(usize::MAX, |max| max.min(readable.len() - start));
    let value = readable[start..start + len].to_vec();
    call.give(&value, address_out, len_out)
}

pub(super) fn status(call: &mut Call, [kind, len_out, flags_out]: [u64; 3]) -> Result<(), Fail> {
    let len = readable(call.host(), Buffer::from_number(kind)?)?.len() as u32;
    call.write(len_out, &len.to_le_bytes())?;
    call.write(flags_out, &0_u32.to_le_bytes())
}

/// Start 0 replaces the first `len` bytes, a start at or behind the end appends; Envoy refuses anything between.
pub(super) fn set(call: &mut Call, [kind, start, len, at, size]: [u64; 5]) -> Result<(), Fail> {
    let kind = Buffer::from_number(kind)?;
    let data = call.bytes(at, size)?;
    let buffer = half(call.host(), kind)?.and_then(Half::writable).ok_or(Status::BadArgument)?;
    if start == 0 {
        let drained = usize::try_from(len).map_or(buffer.len(), |len| len.min(buffer.len()));
        buffer.splice(..drained, data);
    } else if start >= buffer.len() as u64 {
        buffer.extend_from_slice(&data);
    } else {
        return Err(Status::BadArgument.into());
    }
    Ok(())
}

fn readable(host: &mut Host, kind: Buffer) -> Result<&[u8], Status> {
    match kind {
        Buffer::VmConfiguration => Ok(&[]),
        Buffer::PluginConfiguration if host.config_readable => Ok(&host.config),
        Buffer::PluginConfiguration | Buffer::Other => Err(Status::NotFound),
        Buffer::RequestBody | Buffer::ResponseBody => Ok(half(host, kind)?.map(|half| half.readable()).unwrap_or_default()),
    }
}

fn half(host: &mut Host, kind: Buffer) -> Result<Option<&mut Half>, Status> {
    let side = match kind {
        Buffer::RequestBody => Side::Request,
        Buffer::ResponseBody => Side::Response,
        Buffer::VmConfiguration | Buffer::PluginConfiguration => return Ok(None),
        Buffer::Other => return Err(Status::NotFound),
    };
    Ok(host.stream().map(|stream| stream.half(side)))
}
