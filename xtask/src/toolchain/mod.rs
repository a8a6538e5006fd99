//! Compilers for wasm: finds or sets up one, and builds our crates with it.
mod debian;
mod no_std;
mod rustup;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};

use crate::sh::{self, Sh};
use crate::{git, paths};

/// The target that gateways and browsers load.
pub const TARGET: &str = "wasm32-unknown-unknown";
/// Forces a route: `rustup` or `debian`.
const ROUTE_VARIABLE: &str = "FLOODMARK_WASM_ROUTE";

/// A compiler that can build for `TARGET`.
pub struct Toolchain {
    /// One line for people: where it comes from.
    pub summary: String,
    /// Names the folder of built files; files of two compilers must not meet.
    route: &'static str,
    cargo: PathBuf,
    /// None: the one that cargo finds itself.
    rustc: Option<PathBuf>,
    linker: Option<PathBuf>,
    /// None: the compiler's own.
    sysroot: Option<PathBuf>,
    /// The folder with the standard library of `TARGET`.
    libdir: PathBuf,
}

/// What is built for wasm.
pub struct Cdylib<'a> {
    /// Name of the package.
    pub package: &'a str,
    /// Cargo profile.
    pub profile: &'a str,
    /// Cargo features, may be empty.
    pub features: &'a [&'a str],
}

/// Finds a compiler for wasm, or sets one up: rustup's target, then Debian's packages.
pub fn find(sh: &Sh) -> Result<Toolchain> {
    let forced = std::env::var(ROUTE_VARIABLE).unwrap_or_default();
    match forced.as_str() {
        "rustup" => return rustup::find(sh),
        "debian" => return debian::find(sh),
        "" => {}
        other => bail!("{ROUTE_VARIABLE}={other}: expected rustup or debian"),
    }
    // What is there before what must be fetched; rustup's server may be slow to say no.
    if let Ok(ready) = rustup::ready().or_else(|_| debian::ready()) {
        return Ok(ready);
    }
    let rustup = match rustup::find(sh) {
        Ok(found) => return Ok(found),
        Err(error) => error,
    };
    debian::find(sh).map_err(|debian| {
        anyhow!(
            "no compiler for {TARGET}.\n  tried rustup: {rustup:#}\n  tried Debian packages: {debian:#}\n  \
             what to do: `rustup target add {TARGET}` where rustup can reach its server, or on Debian 12 as root \
             `apt-get install --no-install-recommends {}`; then run this again",
            debian::PACKAGES.join(" ")
        )
    })
}

impl Toolchain {
    /// Builds a library crate as a wasm module and puts it at `out`.
    pub fn build_cdylib(&self, sh: &Sh, what: &Cdylib, out: &Path) -> Result<()> {
        let target_dir = paths::target("wasm-build").join(self.route);
        let mut cargo = self.cargo("rustc", &self.rustflags()?);
        cargo.args(["--package", what.package, "--lib", "--crate-type", "cdylib", "--profile", what.profile]);
        cargo.args(["--target", TARGET, "--target-dir"]).arg(&target_dir);
        if !what.features.is_empty() {
            cargo.arg("--features").arg(what.features.join(","));
        }
        cargo.env("FLOODMARK_GIT", git::describe());
        sh.run(&mut cargo)?;
        let folder = if what.profile == "dev" { "debug" } else { what.profile };
        let file = format!("{}.wasm", what.package.replace('-', "_"));
        place(&target_dir.join(TARGET).join(folder).join(file), out)
    }

    /// Cargo with this compiler; `flags` go to the compiler for wasm only.
    fn cargo(&self, subcommand: &str, flags: &[String]) -> Command {
        let mut cargo = sh::cmd(&self.cargo);
        cargo.arg(subcommand);
        if let Some(rustc) = &self.rustc {
            cargo.env("RUSTC", rustc);
        }
        if let Some(linker) = &self.linker {
            cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        }
        // This variable wins over RUSTFLAGS and configuration files, so the module does not depend on them.
        cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
        cargo
    }

    fn rustflags(&self) -> Result<Vec<String>> {
        // Panic messages name source files: without this the module would hold the builder's folders.
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
        let home = home.context("no home folder: set CARGO_HOME")?;
        let mut flags = vec![
            format!("--remap-path-prefix={}=cargo", home.display()),
            format!("--remap-path-prefix={}=floodmark", paths::root().display()),
        ];
        if let Some(sysroot) = &self.sysroot {
            flags.extend(["--sysroot".to_owned(), sysroot.display().to_string()]);
        }
        Ok(flags)
    }
}

/// Copies so that nobody ever reads half a file.
pub fn place(from: &Path, to: &Path) -> Result<()> {
    let dir = to.parent().context("no folder to write to")?;
    std::fs::create_dir_all(dir)?;
    let part = to.with_extension(format!("part{}", std::process::id()));
    std::fs::copy(from, &part).with_context(|| format!("cannot copy {} to {}", from.display(), part.display()))?;
    std::fs::rename(&part, to).with_context(|| format!("cannot write {}", to.display()))
}

/// Whether a folder holds a whole standard library.
fn has_std(libdir: &Path) -> bool {
    let names: Vec<String> = std::fs::read_dir(libdir)
        .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    ["libcore-", "liballoc-", "libstd-", "libcompiler_builtins-", "libpanic_abort-"]
        .iter()
        .all(|start| names.iter().any(|name| name.starts_with(start) && name.ends_with(".rlib")))
}
