//! Host calls of proxy-wasm 0.2.1 that return their status. The SDK's own wrappers panic on any status that they do not expect, and a panic
//! ends the VM with every stream in it.
#![allow(unsafe_code, reason = "the ABI hands over pointers into this module's own memory; every call is wrapped here and nowhere else")]

use crate::host::{Header, HostError};

/// `proxy_buffer_type_t`.
pub const REQUEST_BODY: u32 = 0;
/// `proxy_buffer_type_t`.
pub const RESPONSE_BODY: u32 = 1;
/// `proxy_map_type_t`.
pub const REQUEST_HEADERS: u32 = 0;
/// `proxy_map_type_t`.
pub const REQUEST_TRAILERS: u32 = 1;
/// `proxy_map_type_t`.
pub const RESPONSE_HEADERS: u32 = 2;
/// `proxy_buffer_type_t`.
pub const PLUGIN_CONFIGURATION: u32 = 7;
/// `proxy_status_t`.
const PARSE_FAILURE: u32 = 4;
/// `proxy_status_t`.
const NOT_FOUND: u32 = 1;
/// `proxy_status_t`.
const CAS_MISMATCH: u32 = 8;
/// `proxy_metric_type_t`.
const COUNTER: u32 = 0;

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    fn proxy_log(level: u32, message: *const u8, size: usize) -> u32;
    fn proxy_get_current_time_nanoseconds(time: *mut u64) -> u32;
    fn proxy_get_buffer_bytes(kind: u32, start: usize, length: usize, data: *mut *mut u8, size: *mut usize) -> u32;
    fn proxy_set_buffer_bytes(kind: u32, start: usize, length: usize, data: *const u8, size: usize) -> u32;
    fn proxy_get_header_map_pairs(map: u32, data: *mut *mut u8, size: *mut usize) -> u32;
    fn proxy_replace_header_map_value(map: u32, key: *const u8, key_size: usize, value: *const u8, value_size: usize) -> u32;
    fn proxy_remove_header_map_value(map: u32, key: *const u8, key_size: usize) -> u32;
    fn proxy_get_property(path: *const u8, path_size: usize, data: *mut *mut u8, size: *mut usize) -> u32;
    fn proxy_set_property(path: *const u8, path_size: usize, value: *const u8, value_size: usize) -> u32;
    fn proxy_send_local_response(
        status: u32,
        details: *const u8,
        details_size: usize,
        body: *const u8,
        body_size: usize,
        headers: *const u8,
        headers_size: usize,
        grpc_status: i32,
    ) -> u32;
    fn proxy_get_shared_data(key: *const u8, key_size: usize, data: *mut *mut u8, size: *mut usize, version: *mut u32) -> u32;
    fn proxy_set_shared_data(key: *const u8, key_size: usize, data: *const u8, size: usize, version: u32) -> u32;
    fn proxy_define_metric(kind: u32, name: *const u8, name_size: usize, metric: *mut u32) -> u32;
    fn proxy_increment_metric(metric: u32, by: i64) -> u32;
}

fn status(status: u32) -> Result<(), HostError> {
    if status == 0 { Ok(()) } else { Err(HostError(status)) }
}

/// Runs a call that answers with memory which it got from this module's allocator, and takes that memory over.
fn received(call: impl FnOnce(*mut *mut u8, *mut usize) -> u32) -> Result<Vec<u8>, HostError> {
    let mut data = core::ptr::null_mut();
    let mut size = 0;
    status(call(&mut data, &mut size))?;
    if data.is_null() {
        return Ok(Vec::new());
    }
    // SAFETY: the host got `data` from the allocator that the SDK exports, a boxed slice of exactly `size` bytes, and wrote all of them.
    Ok(unsafe { Vec::from_raw_parts(data, size, size) })
}

/// Writes a log line.
pub fn log(level: u32, message: &str) {
    // SAFETY: the pointer and the length are those of a live string. A line that cannot be written is lost; there is nobody to tell.
    let _ = unsafe { proxy_log(level, message.as_ptr(), message.len()) };
}

/// Nanoseconds since the Unix epoch.
pub fn now_ns() -> Result<u64, HostError> {
    let mut time = 0;
    // SAFETY: the pointer is that of a live u64.
    status(unsafe { proxy_get_current_time_nanoseconds(&mut time) })?;
    Ok(time)
}

/// Bytes `start..start + length` of a buffer, as far as it goes.
pub fn buffer(kind: u32, start: usize, length: usize) -> Result<Vec<u8>, HostError> {
    // SAFETY: the pointers are those of `received`'s live variables.
    received(|data, size| unsafe { proxy_get_buffer_bytes(kind, start, length, data, size) })
}

/// Puts `data` in the place of a buffer's first `length` bytes. Envoy knows no other place than the start and the end.
pub fn replace_buffer_start(kind: u32, length: usize, data: &[u8]) -> Result<(), HostError> {
    // SAFETY: pointer and length are those of a live slice.
    status(unsafe { proxy_set_buffer_bytes(kind, 0, length, data.as_ptr(), data.len()) })
}

/// All pairs of a header map.
pub fn headers(map: u32) -> Result<Vec<Header>, HostError> {
    // SAFETY: as above.
    let bytes = received(|data, size| unsafe { proxy_get_header_map_pairs(map, data, size) })?;
    pairs(&bytes).ok_or(HostError(PARSE_FAILURE))
}

/// Decodes a map: the number of pairs, two lengths a pair, then names and values with a zero byte behind each. All numbers are
/// little-endian u32. `None` for bytes that are none.
fn pairs(bytes: &[u8]) -> Option<Vec<Header>> {
    let number = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize);
    let count = if bytes.is_empty() { 0 } else { number(0)? };
    let mut at = count.checked_mul(8)?.checked_add(4)?;
    let mut take = |length: usize| {
        let part = bytes.get(at..at.checked_add(length)?)?.to_vec();
        at += length + 1;
        Some(part)
    };
    (0..count).map(|pair| Some((take(number(4 + pair * 8)?)?, take(number(8 + pair * 8)?)?))).collect()
}

/// Encodes a map for the host, in the same form.
fn encode_pairs(pairs: &[(&str, String)]) -> Vec<u8> {
    let number = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    let mut bytes = number(pairs.len()).to_vec();
    for (name, value) in pairs {
        bytes.extend(number(name.len()));
        bytes.extend(number(value.len()));
    }
    for part in pairs.iter().flat_map(|(name, value)| [*name, value.as_str()]) {
        bytes.extend(part.as_bytes());
        bytes.push(0);
    }
    bytes
}

/// Sets a header to one value.
pub fn replace_header(map: u32, name: &str, value: &str) -> Result<(), HostError> {
    // SAFETY: pointers and lengths are those of live strings.
    status(unsafe { proxy_replace_header_map_value(map, name.as_ptr(), name.len(), value.as_ptr(), value.len()) })
}

/// Takes every copy of a header away.
pub fn remove_header(map: u32, name: &str) -> Result<(), HostError> {
    // SAFETY: as above.
    status(unsafe { proxy_remove_header_map_value(map, name.as_ptr(), name.len()) })
}

/// A property, by its path.
pub fn property(path: &[&str]) -> Result<Vec<u8>, HostError> {
    let path = path.join("\0");
    // SAFETY: the path is a live string; the other pointers are those of `received`'s live variables.
    received(|data, size| unsafe { proxy_get_property(path.as_ptr(), path.len(), data, size) })
}

/// Sets a property whose path has one element.
pub fn set_property(name: &str, value: &str) -> Result<(), HostError> {
    // SAFETY: pointers and lengths are those of live strings.
    status(unsafe { proxy_set_property(name.as_ptr(), name.len(), value.as_ptr(), value.len()) })
}

/// Answers in the upstream's place.
pub fn local_response(code: u32, details: &str, headers: &[(&str, String)], body: &[u8]) -> Result<(), HostError> {
    let headers = encode_pairs(headers);
    // SAFETY: pointers and lengths are those of live values; -1 says that there is no gRPC status.
    status(unsafe {
        proxy_send_local_response(code, details.as_ptr(), details.len(), body.as_ptr(), body.len(), headers.as_ptr(), headers.len(), -1)
    })
}

/// A value of the map that VMs share, and its version.
pub fn shared_data(key: &str) -> Result<Option<(Vec<u8>, u32)>, HostError> {
    let mut version = 0;
    // SAFETY: the key is a live string; the other pointers are those of live variables.
    match received(|data, size| unsafe { proxy_get_shared_data(key.as_ptr(), key.len(), data, size, &mut version) }) {
        Ok(value) => Ok(Some((value, version))),
        Err(HostError(NOT_FOUND)) => Ok(None),
        Err(failed) => Err(failed),
    }
}

/// Writes a value there; `false` when another version stands.
pub fn set_shared_data(key: &str, value: &[u8], version: u32) -> Result<bool, HostError> {
    // SAFETY: pointers and lengths are those of live values.
    match status(unsafe { proxy_set_shared_data(key.as_ptr(), key.len(), value.as_ptr(), value.len(), version) }) {
        Ok(()) => Ok(true),
        Err(HostError(CAS_MISMATCH)) => Ok(false),
        Err(failed) => Err(failed),
    }
}

/// Makes a counter.
pub fn define_counter(name: &str) -> Result<u32, HostError> {
    let mut metric = 0;
    // SAFETY: the name is a live string and the last pointer that of a live u32.
    status(unsafe { proxy_define_metric(COUNTER, name.as_ptr(), name.len(), &mut metric) })?;
    Ok(metric)
}

/// Adds one to a counter.
pub fn increment(metric: u32) -> Result<(), HostError> {
    // SAFETY: only numbers are passed.
    status(unsafe { proxy_increment_metric(metric, 1) })
}
