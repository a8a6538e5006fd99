//! Event ids: what a client, a log line and a counter of one request have in common.

use core::cell::Cell;

/// Longest event id that is taken from a request.
const MAX_ID_BYTES: usize = 64;

/// Makes ids for requests that bring none. They are keyed digests of a counter and the time, so that they tell nothing of the request and
/// two VMs of one gateway give different ones; there is no source of randomness in proxy-wasm.
#[derive(Debug)]
pub struct EventIds {
    key: [u8; 32],
    made: Cell<u64>,
}

impl EventIds {
    /// `seed` is what differs between VMs: the time of their start and the configuration.
    pub fn new(started_ns: u64, configuration: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("floodmark 2026-11-30 event ids");
        hasher.update(&started_ns.to_le_bytes());
        hasher.update(configuration);
        EventIds { key: *hasher.finalize().as_bytes(), made: Cell::new(0) }
    }

    /// The request's own id where it is fit for a log line and a header, otherwise a new one of 16 hex digits.
    pub fn for_request(&self, request_id: Option<&[u8]>, now_ns: u64) -> String {
        let usable = |id: &&[u8]| {
            (1..=MAX_ID_BYTES).contains(&id.len()) && id.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
        };
        if let Some(id) = request_id.filter(usable) {
            return String::from_utf8_lossy(id).into_owned();
        }
        let number = self.made.get();
        self.made.set(number.wrapping_add(1));
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&number.to_le_bytes());
        hasher.update(&now_ns.to_le_bytes());
        hasher.finalize().to_hex().as_str().chars().take(16).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_request_id_is_kept_and_no_other() {
        let ids = EventIds::new(1, b"config");
        assert_eq!(ids.for_request(Some(b"0f3e-AB_1.2"), 5), "0f3e-AB_1.2");
        let long = [b'a'; MAX_ID_BYTES + 1];
        for unfit in [&b""[..], b"a b", b"a\nverdict=allow", b"\xff", &long] {
            let made = ids.for_request(Some(unfit), 5);
            assert_eq!(made.len(), 16, "{unfit:?}");
            assert!(made.bytes().all(|byte| byte.is_ascii_hexdigit()));
        }
    }

    #[test]
    fn made_ids_differ() {
        let (ids, others) = (EventIds::new(1, b"config"), EventIds::new(2, b"config"));
        let made = [ids.for_request(None, 5), ids.for_request(None, 5), others.for_request(None, 5)];
        assert!(made[0] != made[1] && made[0] != made[2] && made[1] != made[2]);
    }
}
