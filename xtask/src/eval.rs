//! `cargo xtask eval`: builds floodmark-eval for speed and hands over to it.
use anyhow::Result;

use crate::sh::{self, Sh};

/// Runs floodmark-eval with `arguments` in the repository's root, so that relative paths mean the same wherever it is called from.
pub fn run(sh: &Sh, arguments: &[String]) -> Result<()> {
    let mut command = sh::cargo();
    command.args(["run", "--quiet", "--profile", "tool", "--package", "floodmark-eval", "--"]).args(arguments);
    sh.run(&mut command)
}
