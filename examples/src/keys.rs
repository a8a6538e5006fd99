//! The key ring from outside of the program: a file that only the store's process may read, or an environment variable.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, ensure};
use data_encoding::HEXLOWER_PERMISSIVE;
use floodmark_core::lineage::KeyRing;

/// The variable that holds the keys if no file is named.
pub const VARIABLE: &str = "FLOODMARK_KEYS";

/// Reads the ring from `file`, else from [`VARIABLE`]: one `ID=SECRET` a line (or space), the secret as 64 hex digits. The first seals, all verify.
///
/// # Errors
/// No keys, or the first that is none, by its place; never the secret itself.
pub fn ring(file: Option<&Path>) -> Result<KeyRing> {
    let (text, place) = match file {
        Some(file) => {
            let place = file.display().to_string();
            (std::fs::read_to_string(file).with_context(|| format!("cannot read the keys in {place}"))?, place)
        }
        None => {
            let text = std::env::var(VARIABLE)
                .map_err(|_| anyhow!("no keys: name a file with --keys, or set {VARIABLE}; README.md says how to make one"))?;
            (text, VARIABLE.to_owned())
        }
    };
    let key = |(number, word): (usize, &str)| {
        let key = parse(word).ok_or_else(|| anyhow!("{place}: key {} must be ID=SECRET with 64 hex digits of a secret", number + 1))?;
        ensure!(key.1 != [0; 32], "{place}: key {} is all zeros; make one as README.md shows", number + 1);
        Ok(key)
    };
    let secrets = text.split_whitespace().enumerate().map(key).collect::<Result<Vec<_>>>()?;
    KeyRing::new(secrets).map_err(|error| anyhow!("{place}: {error:?}; give 1 to 8 keys with names of 1 to 32 bytes, each once"))
}

fn parse(word: &str) -> Option<(String, [u8; 32])> {
    let (id, secret) = word.split_once('=')?;
    let secret = HEXLOWER_PERMISSIVE.decode(secret.as_bytes()).ok()?;
    Some((id.to_owned(), secret.try_into().ok()?))
}
