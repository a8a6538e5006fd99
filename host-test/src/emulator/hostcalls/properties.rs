//! Host functions on properties: what a gateway tells about the stream, and the filter state that a plugin writes.

use super::super::abi::Status;
use super::super::headers::Headers;
use super::super::host::Host;
use super::super::options::Capability;
use super::{Call, Fail};

/// Envoy puts this before the name of everything that a plugin writes.
const FILTER_STATE_PREFIX: &str = "wasm.";

pub(super) fn get(call: &mut Call, [path, path_len, address_out, len_out]: [u64; 4]) -> Result<(), Fail> {
    call.host().require(Capability::Properties)?;
    let path = call.text(path, path_len)?;
    let value = find(call.host(), &path).ok_or(Status::NotFound)?;
    call.give(&value, address_out, len_out)
}

/// The whole path, NULs and all, is the name: a path of several parts is a name that nobody can ask for in an access log.
pub(super) fn set(call: &mut Call, [path, path_len, at, len]: [u64; 4]) -> Result<(), Fail> {
    call.host().require(Capability::Properties)?;
    let (path, value) = (call.text(path, path_len)?, call.bytes(at, len)?);
    let stream = call.host().stream().ok_or(Status::NotFound)?;
    stream.filter_state.insert(format!("{FILTER_STATE_PREFIX}{path}"), value);
    Ok(())
}

fn find(host: &mut Host, path: &str) -> Option<Vec<u8>> {
    let dotted = path.replace('\0', ".");
    if let Some(value) = host.options.properties.get(&dotted) {
        return Some(value.clone());
    }
    let stream = host.stream()?;
    if dotted == "source.address" {
        return stream.source.clone().map(String::into_bytes);
    }
    if let Some(name) = dotted.strip_prefix("request.") {
        // Like the map itself: gone once the headers were continued, back for the log.
        let seen = stream.request.headers_visible || stream.logging;
        return request(stream.request.headers.as_ref().filter(|_| seen)?, name);
    }
    if let Some(name) = dotted.strip_prefix("response.") {
        let seen = stream.response.headers_visible || stream.logging;
        return response(stream.response.headers.as_ref().filter(|_| seen)?, name);
    }
    // Only the first part of a path is the name of a filter state, so a name with several parts is never found.
    stream.filter_state.get(&format!("{FILTER_STATE_PREFIX}{path}")).filter(|_| !path.contains('\0')).cloned()
}

fn request(headers: &Headers, name: &str) -> Option<Vec<u8>> {
    let path = || headers.get(":path");
    let question = |path: &[u8]| path.iter().position(|&byte| byte == b'?').unwrap_or(path.len());
    match name {
        "path" => path().map(<[u8]>::to_vec),
        "url_path" => path().map(|path| path[..question(path)].to_vec()),
        "query" => path().map(|path| path.get(question(path) + 1..).unwrap_or_default().to_vec()),
        "host" => headers.get(":authority").map(<[u8]>::to_vec),
        "method" => headers.get(":method").map(<[u8]>::to_vec),
        "scheme" => headers.get(":scheme").map(<[u8]>::to_vec),
        "id" => headers.get("x-request-id").map(<[u8]>::to_vec),
        "useragent" => headers.get("user-agent").map(<[u8]>::to_vec),
        "referer" => headers.get("referer").map(<[u8]>::to_vec),
        _ => headers.get(name.strip_prefix("headers.")?).map(<[u8]>::to_vec),
    }
}

fn response(headers: &Headers, name: &str) -> Option<Vec<u8>> {
    match name {
        "code" => {
            let code: i64 = headers.text(":status")?.parse().ok()?;
            Some(code.to_le_bytes().to_vec())
        }
        _ => headers.get(name.strip_prefix("headers.")?).map(<[u8]>::to_vec),
    }
}
