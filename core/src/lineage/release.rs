//! Releases: what an administrator lets out of quarantine, by the digest of its content.

use alloc::vec::Vec;

use super::codec::{Reader, SealError, Writer};
use super::seal::{Envelope, Fault, KeyRing, Kind};
use crate::limits::{MAX_GRANTER_BYTES, MAX_TENANT_BYTES};

/// A sealed release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release<'a> {
    /// Whose quarantine it is about, 1 to 128 bytes.
    pub tenant: &'a str,
    /// BLAKE3 of the content.
    pub content: [u8; 32],
    /// Who gave it, 1 to 64 bytes.
    pub granter: &'a str,
    /// Unix time in milliseconds.
    pub created_ms: u64,
    /// From then on it holds no longer; 0 for never.
    pub expires_ms: u64,
}

impl<'a> Release<'a> {
    /// Seals it with the ring's first key.
    ///
    /// # Errors
    /// The first field that is out of bounds.
    pub fn seal(&self, ring: &KeyRing) -> Result<Vec<u8>, SealError> {
        ring.seal(Kind::Release, &|writer| self.write(writer))
    }

    /// Reads and verifies a sealed release.
    ///
    /// # Errors
    /// What is wrong with it.
    #[inline(never)]
    pub fn open(sealed: &'a [u8], ring: &KeyRing) -> Result<Self, Fault> {
        let mut envelope = Envelope::new(Kind::Release, sealed).ok_or(Fault::Malformed)?;
        let release = Release::read(&mut envelope.fields).ok_or(Fault::Malformed)?;
        envelope.verify(ring, &|writer| release.write(writer))?;
        Ok(release)
    }

    /// Whether it lets this content of a tenant out at this time.
    pub fn covers(&self, tenant: &str, content: &[u8; 32], now_ms: u64) -> bool {
        self.tenant == tenant && self.content == *content && (self.expires_ms == 0 || now_ms < self.expires_ms)
    }

    fn read(fields: &mut Reader<'a>) -> Option<Self> {
        Some(Release {
            tenant: fields.text()?,
            content: fields.digest()?,
            granter: fields.text()?,
            created_ms: fields.number()?,
            expires_ms: fields.number()?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.text("tenant", self.tenant, 1, MAX_TENANT_BYTES);
        writer.raw(&self.content);
        writer.text("granter", self.granter, 1, MAX_GRANTER_BYTES);
        writer.number(self.created_ms);
        writer.number(self.expires_ms);
    }
}
