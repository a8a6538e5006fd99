//! What every host function needs: reading guest memory, handing results over, and failing with a status.

use super::super::abi::Status;
use super::super::host::Host;
use crate::runtime::{Guest, Trap};

/// A host function as the engines call it.
pub(super) type Run = fn(&mut dyn Guest<Host>, &[u64]) -> Result<u32, Trap>;

/// One host call in progress.
pub(super) struct Call<'a> {
    guest: &'a mut dyn Guest<Host>,
}

/// Why a host call does not succeed.
pub(super) enum Fail {
    /// The guest gets this answer.
    Status(Status),
    /// The guest died in its own allocator.
    Trap(Trap),
}

impl From<Status> for Fail {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

/// Runs one behaviour with its arguments counted.
pub(super) fn run<const N: usize>(
    guest: &mut dyn Guest<Host>,
    args: &[u64],
    behaviour: fn(&mut Call, [u64; N]) -> Result<(), Fail>,
) -> Result<u32, Trap> {
    let args = args.try_into().map_err(|_| Trap(format!("{} arguments where {N} belong", args.len())))?;
    match behaviour(&mut Call { guest }, args) {
        Ok(()) => Ok(Status::Ok as u32),
        Err(Fail::Status(status)) => Ok(status as u32),
        Err(Fail::Trap(trap)) => Err(trap),
    }
}

impl Call<'_> {
    pub(super) fn host(&mut self) -> &mut Host {
        self.guest.host()
    }

    /// Copies bytes out of the guest.
    pub(super) fn bytes(&mut self, at: u64, len: u64) -> Result<Vec<u8>, Fail> {
        let range = at as usize..(at + len) as usize;
        Ok(self.guest.memory().get(range).ok_or(Status::InvalidMemoryAccess)?.to_vec())
    }

    /// Copies text out of the guest; bytes that are no UTF-8 are replaced.
    pub(super) fn text(&mut self, at: u64, len: u64) -> Result<String, Fail> {
        Ok(String::from_utf8_lossy(&self.bytes(at, len)?).into_owned())
    }

    /// Writes bytes to an address that the guest gave.
    pub(super) fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Fail> {
        let range = at as usize..at as usize + bytes.len();
        self.guest.memory().get_mut(range).ok_or(Status::InvalidMemoryAccess)?.copy_from_slice(bytes);
        Ok(())
    }

    /// Hands a value over in memory from the guest's own allocator; an empty one as a null pointer, as Envoy does.
    pub(super) fn give(&mut self, value: &[u8], address_out: u64, len_out: u64) -> Result<(), Fail> {
        let len = u32::try_from(value.len()).map_err(|_| Status::InvalidMemoryAccess)?;
        let address = if len == 0 { 0 } else { self.guest.allocate(len).map_err(Fail::Trap)? };
        if len > 0 {
            self.write(u64::from(address), value)?;
        }
        self.write(address_out, &address.to_le_bytes())?;
        self.write(len_out, &len.to_le_bytes())
    }
}
