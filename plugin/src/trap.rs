//! Test builds only: a request header that makes the plugin trap, in the callback that it names.

use crate::host::Host;

const HEADER: &[u8] = b"x-floodmark-test-trap";

/// What a request asked for.
#[derive(Default)]
pub struct Trap(Vec<u8>);

impl Trap {
    /// Reads the header.
    pub fn asked(host: &dyn Host) -> Self {
        let headers = host.request_headers().unwrap_or_default();
        Trap(headers.into_iter().find(|(name, _)| name == HEADER).map(|(_, value)| value).unwrap_or_default())
    }

    /// Traps if this is the callback.
    pub fn spring(&self, callback: &str) {
        if self.0 == callback.as_bytes() {
            core::arch::wasm32::unreachable();
        }
    }
}
