//! The operator's secrets, and the keys that are made of them, one for each purpose.

use core::fmt;

/// A secret with its name.
#[derive(Clone)]
pub struct Secret {
    /// What records say it is.
    pub id: String,
    secret: [u8; 32],
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Secret({})", self.id)
    }
}

impl Secret {
    /// A secret of this name.
    pub fn new(id: String, secret: [u8; 32]) -> Self {
        Secret { id, secret }
    }

    /// The secret itself, for a ring of keys that derives its own.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.secret
    }

    /// The key for one purpose, of which nothing can be told about the secret or another purpose's key.
    pub fn derive(&self, purpose: &str) -> SubKey {
        SubKey(floodmark_core::keys::derive(purpose, &self.secret))
    }
}

/// A key for one purpose.
#[derive(Clone)]
pub struct SubKey([u8; 32]);

impl fmt::Debug for SubKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SubKey")
    }
}

impl SubKey {
    /// The keyed digest of these parts. Each is written with its length, so that no two lists of parts are alike.
    pub fn digest(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        *hasher.finalize().as_bytes()
    }

    /// The key itself, for those who digest on their own.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The first bytes of a digest.
pub fn first<const N: usize>(digest: &[u8; 32]) -> [u8; N] {
    digest.first_chunk().copied().unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_and_parts_are_told_apart_and_nothing_is_shown() {
        let secret = Secret::new("k1".to_owned(), [0xab; 32]);
        let key = secret.derive("run");
        assert_eq!(key.bytes(), &blake3::derive_key("floodmark 2026-11-30 run", &[0xab; 32]));
        assert_ne!(key.bytes(), secret.derive("caller").bytes());
        let digests = [&[&b"ab"[..], b"c"][..], &[b"a", b"bc"], &[b"abc"], &[b"abc", b""]].map(|parts| key.digest(parts));
        for (at, digest) in digests.iter().enumerate() {
            assert!(!digests[..at].contains(digest), "{at}");
        }
        assert_eq!(first::<4>(&digests[0]), digests[0][..4]);
        assert_eq!(format!("{secret:?} {key:?}"), "Secret(k1) SubKey");
    }
}
