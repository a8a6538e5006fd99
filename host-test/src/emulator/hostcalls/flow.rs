//! Host functions that steer a stream. Like Envoy, the host only notes the wish and acts when the callback has returned.

use super::super::abi::Status;
use super::super::headers::Headers;
use super::super::stream::LocalReply;
use super::{Call, Fail};

pub(super) fn resume(call: &mut Call, [kind]: [u64; 1]) -> Result<(), Fail> {
    let stream = call.host().stream().ok_or(Status::BadArgument)?;
    match kind {
        0 => stream.wishes.resume_request = true,
        1 => stream.wishes.resume_response = true,
        _ => return Err(Status::BadArgument.into()),
    }
    Ok(())
}

pub(super) fn close(call: &mut Call, [kind]: [u64; 1]) -> Result<(), Fail> {
    if kind > 1 {
        return Err(Status::BadArgument.into());
    }
    call.host().stream().ok_or(Status::BadArgument)?.wishes.close = true;
    Ok(())
}

pub(super) fn local_response(
    call: &mut Call,
    [status, details, details_len, body, body_len, pairs, pairs_len, _grpc]: [u64; 8],
) -> Result<(), Fail> {
    // Envoy's reply takes no spaces in the details, so that a log line stays one field.
    let details = call.text(details, details_len)?.replace(char::is_whitespace, "_");
    let body = call.bytes(body, body_len)?;
    let headers = Headers::from_pairs(&call.bytes(pairs, pairs_len)?)?;
    let status = u16::try_from(status).map_err(|_| Status::BadArgument)?;
    let stream = call.host().stream().ok_or(Status::BadArgument)?;
    stream.wishes.local_replies.push(LocalReply { status, details, headers, body, by_gateway: false });
    Ok(())
}
