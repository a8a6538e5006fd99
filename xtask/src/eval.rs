//! `cargo xtask eval` and `cargo xtask train`: build floodmark-eval for speed and hand over to it.
use anyhow::Result;

use crate::r#gen;
use crate::sh::{self, Sh};

/// Runs floodmark-eval with `arguments` in the repository's root, so that relative paths mean the same wherever it is called from.
pub fn run(sh: &Sh, arguments: &[String]) -> Result<()> {
    let mut command = sh::cargo();
    command.args(["run", "--quiet", "--profile", "tool", "--package", "floodmark-eval", "--"]).args(arguments);
    sh.run(&mut command)
}

/// Trains a model and takes the fingerprint of its table.
pub fn train(sh: &Sh, arguments: &[String]) -> Result<()> {
    run(sh, &[&[String::from("train")], arguments].concat())?;
    r#gen::run(false)
}
