//! Keys for one purpose each, made of the operator's secret.

/// The key for `purpose` of a secret, of which nothing can be told about the secret or another purpose's key. Purposes are words of this project's own; the
/// date in the context is what makes the context unlike that of any other program (BLAKE3 paper, 6.2).
pub fn derive(purpose: &str, secret: &[u8; 32]) -> [u8; 32] {
    blake3::derive_key(&["floodmark 2026-11-30 ", purpose].concat(), secret)
}

#[cfg(test)]
mod tests {
    #[test]
    fn purposes_and_secrets_are_told_apart() {
        let key = super::derive("run", &[0xab; 32]);
        assert_eq!(key, blake3::derive_key("floodmark 2026-11-30 run", &[0xab; 32]));
        assert_ne!(key, super::derive("caller", &[0xab; 32]));
        assert_ne!(key, super::derive("run", &[0xac; 32]));
    }
}
