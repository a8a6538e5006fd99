//! Host functions on header and trailer maps, with Envoy's rules of when a map can be seen.

use super::super::abi::{Map, Status};
use super::super::headers::Headers;
use super::super::host::Host;
use super::{Call, Fail};

pub(super) fn value(call: &mut Call, [map, key, key_len, address_out, len_out]: [u64; 5]) -> Result<(), Fail> {
    let map = Map::from_number(map)?;
    let key = call.text(key, key_len)?;
    let host = call.host();
    // A map that is not there is a mistake, except in the log callback, where Envoy only finds nothing in it.
    let missing = if logging(host) { Status::NotFound } else { Status::BadArgument };
    let value = visible(host, map).ok_or(missing)?.get(&key).ok_or(Status::NotFound)?.to_vec();
    call.give(&value, address_out, len_out)
}

pub(super) fn add(call: &mut Call, [map, key, key_len, at, len]: [u64; 5]) -> Result<(), Fail> {
    let (key, value) = (call.text(key, key_len)?, call.bytes(at, len)?);
    changeable(call, map)?.add(&key, value);
    Ok(())
}

pub(super) fn replace(call: &mut Call, [map, key, key_len, at, len]: [u64; 5]) -> Result<(), Fail> {
    let (key, value) = (call.text(key, key_len)?, call.bytes(at, len)?);
    changeable(call, map)?.set(&key, value);
    Ok(())
}

pub(super) fn remove(call: &mut Call, [map, key, key_len]: [u64; 3]) -> Result<(), Fail> {
    let key = call.text(key, key_len)?;
    changeable(call, map)?.remove(&key);
    Ok(())
}

/// Envoy gives an empty list for a map that is not there, not an error.
pub(super) fn pairs(call: &mut Call, [map, address_out, len_out]: [u64; 3]) -> Result<(), Fail> {
    let map = Map::from_number(map)?;
    let pairs = visible(call.host(), map).filter(|headers| !headers.is_empty()).map(Headers::to_pairs);
    call.give(&pairs.unwrap_or_default(), address_out, len_out)
}

pub(super) fn set_pairs(call: &mut Call, [map, at, len]: [u64; 3]) -> Result<(), Fail> {
    let headers = Headers::from_pairs(&call.bytes(at, len)?)?;
    *changeable(call, map)? = headers;
    Ok(())
}

pub(super) fn size(call: &mut Call, [map, out]: [u64; 2]) -> Result<(), Fail> {
    let size = changeable(call, map)?.byte_size() as u32;
    call.write(out, &size.to_le_bytes())
}

fn logging(host: &mut Host) -> bool {
    host.stream().is_some_and(|stream| stream.logging)
}

fn visible(host: &mut Host, map: Map) -> Option<&Headers> {
    let stream = host.stream()?;
    let logging = stream.logging;
    let (headers, visible) = match map {
        Map::RequestHeaders => (&stream.request.headers, stream.request.headers_visible || logging),
        // Envoy does not keep request trailers for the log.
        Map::RequestTrailers => (&stream.request.trailers, stream.request.trailers_visible && !logging),
        Map::ResponseHeaders => (&stream.response.headers, stream.response.headers_visible || logging),
        Map::ResponseTrailers => (&stream.response.trailers, stream.response.trailers_visible || logging),
        Map::Callout => return None,
    };
    headers.as_ref().filter(|_| visible)
}

fn changeable<'a>(call: &'a mut Call, map: u64) -> Result<&'a mut Headers, Fail> {
    let map = Map::from_number(map)?;
    let stream = call.host().stream().ok_or(Status::BadArgument)?;
    let (headers, visible) = match map {
        Map::RequestHeaders => (&mut stream.request.headers, stream.request.headers_visible),
        Map::RequestTrailers => (&mut stream.request.trailers, stream.request.trailers_visible),
        Map::ResponseHeaders => (&mut stream.response.headers, stream.response.headers_visible),
        Map::ResponseTrailers => (&mut stream.response.trailers, stream.response.trailers_visible),
        Map::Callout => (&mut stream.request.headers, false),
    };
    Ok(headers.as_mut().filter(|_| visible).ok_or(Status::BadArgument)?)
}
