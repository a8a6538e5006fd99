//! The proof that the judgement needs no operating system: it builds where there is no std.
use std::path::Path;

use anyhow::{Context, Result};

use super::{TARGET, Toolchain, has_std, rustup};
use crate::sh::Sh;
use crate::{paths, setup};

/// A target without std and with the first version of wasm only.
const BARE_TARGET: &str = "wasm32v1-none";
const CRATES: [&str; 4] = ["--package", "floodmark-core", "--package", "floodmark-tables"];

impl Toolchain {
    /// Builds core and tables without std; gives the way it was done.
    pub fn prove_no_std(&self, sh: &Sh) -> Result<String> {
        let target_dir = paths::target("wasm-build/no-std");
        // rustup's server may be out of reach although TARGET is installed; then the other way proves the same.
        if self.rustc.is_none() && bare_target(sh).is_ok() {
            let mut cargo = self.cargo("build", &[]);
            cargo.args(CRATES).args(["--target", BARE_TARGET, "--target-dir"]).arg(&target_dir);
            sh.run(&mut cargo)?;
            return Ok(format!("built for {BARE_TARGET}"));
        }
        let sysroot = paths::target("tools/no-std-sysroot");
        self.make_core_sysroot(&sysroot)?;
        let mut cargo = self.cargo("build", &["--sysroot".to_owned(), sysroot.display().to_string()]);
        cargo.args(CRATES).args(["--target", TARGET, "--target-dir"]).arg(&target_dir);
        sh.run(&mut cargo)?;
        Ok(format!("built for {TARGET} with a library of core and alloc only"))
    }

    /// A sysroot in which `extern crate std` cannot be found.
    fn make_core_sysroot(&self, sysroot: &Path) -> Result<()> {
        let _lock = setup::lock()?;
        if sysroot.exists() {
            std::fs::remove_dir_all(sysroot)?;
        }
        let to = sysroot.join("lib/rustlib").join(TARGET).join("lib");
        std::fs::create_dir_all(&to)?;
        for entry in std::fs::read_dir(&self.libdir).with_context(|| format!("no {}", self.libdir.display()))? {
            let file = entry?.path();
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if ["libcore-", "liballoc-", "libcompiler_builtins-"].iter().any(|start| name.starts_with(start)) {
                std::fs::copy(&file, to.join(name))?;
            }
        }
        anyhow::ensure!(!has_std(&to), "{} holds std, so it would prove nothing", to.display());
        Ok(())
    }
}

fn bare_target(sh: &Sh) -> Result<()> {
    let core = |dir: &Path| {
        let mut names = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.any(|name| name.to_string_lossy().starts_with("libcore-"))
    };
    if core(&rustup::libdir(BARE_TARGET)?) {
        return Ok(());
    }
    rustup::add_target(sh, BARE_TARGET)
}
