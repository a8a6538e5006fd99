//! What the source tree says of itself.
use crate::sh;

/// Short hash of the last commit, with `-dirty` when tracked files differ from it; `unknown` outside of git.
pub fn describe() -> String {
    let Ok(hash) = sh::read(sh::cmd("git").args(["rev-parse", "--short=12", "HEAD"])) else {
        return "unknown".to_owned();
    };
    let changes = sh::read(sh::cmd("git").args(["status", "--porcelain", "--untracked-files=no"]));
    let clean = changes.is_ok_and(|changes| changes.is_empty());
    if clean { hash } else { format!("{hash}-dirty") }
}
