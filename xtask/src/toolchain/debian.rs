//! The route without rustup's server: Debian's own compiler, and a standard library for wasm built once from its sources.
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::{TARGET, Toolchain, has_std};
use crate::setup::{self, apt};
use crate::sh::{self, Sh};
use crate::{paths, version};

/// Compiler, cargo, library sources and wasm linker; of Debian 12 and its updates.
pub const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-19"];
const RUSTC: &str = "/usr/bin/rustc";
const CARGO: &str = "/usr/bin/cargo";
/// Where the compiler expects the sources of its library.
const SOURCES: &str = "/usr/lib/rustlib/src/rust";
const STAMP: &str = "stamp.txt";

/// Debian's compiler with the sysroot under target/tools, made when missing.
pub fn find(sh: &Sh) -> Result<Toolchain> {
    if usable_rustc().is_err() || !Path::new(CARGO).is_file() || linker().is_err() || sources().is_err() {
        apt::ensure(sh, &PACKAGES, "the wasm compiler")?;
    }
    ensure!(Path::new(CARGO).is_file(), "no {CARGO}: install cargo-web");
    let (rustc, linker) = (usable_rustc()?, linker()?);
    link_sources(sh)?;
    let _lock = setup::lock()?;
    // Another run may have made it while this one waited.
    if let Ok(ready) = ready() {
        return Ok(ready);
    }
    println!("building the standard library for {TARGET} (once, about half a minute)");
    make_sysroot(sh, &linker, &sysroot(&rustc), &stamp()?)?;
    let mut made = ready()?;
    made.summary += " (just built)";
    Ok(made)
}

/// The same when nothing needs to be made.
pub fn ready() -> Result<Toolchain> {
    let (rustc, linker) = (usable_rustc()?, linker()?);
    let sysroot = sysroot(&rustc);
    let libdir = sysroot.join("lib/rustlib").join(TARGET).join("lib");
    let whole = std::fs::read_to_string(sysroot.join(STAMP)).is_ok_and(|found| stamp().is_ok_and(|stamp| found == stamp));
    ensure!(whole && has_std(&libdir), "no whole library at {}", sysroot.display());
    let summary = format!("Debian's rustc {} with a library for {TARGET}", rustc.release);
    let (cargo, rustc) = (CARGO.into(), Some(RUSTC.into()));
    Ok(Toolchain { summary, route: "debian", cargo, rustc, linker: Some(linker), sysroot: Some(sysroot), libdir })
}

struct Rustc {
    release: String,
    /// Release and start of the commit hash: names the sysroot's folder.
    key: String,
}

/// Debian's compiler, when there is one and it is new enough for this workspace.
fn usable_rustc() -> Result<Rustc> {
    let text = sh::read(sh::cmd(RUSTC).arg("-vV"))?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned();
    let (release, commit) = (field("release:"), field("commit-hash:"));
    let needed = env!("CARGO_PKG_RUST_VERSION");
    if version::parse(&release) < version::parse(needed) {
        bail!("{RUSTC} is {release}, needed is {needed}: install rustc-web in its place");
    }
    Ok(Rustc { key: format!("{release}-{}", commit.get(..9).unwrap_or("unknown")), release })
}

fn sysroot(rustc: &Rustc) -> PathBuf {
    paths::target("tools/wasm-sysroot").join(&rustc.key)
}

fn linker() -> Result<PathBuf> {
    let found = sh::which("wasm-ld-19").or_else(|| sh::which("wasm-ld"));
    found.context("no wasm-ld-19 or wasm-ld in PATH: install lld-19")
}

/// The library's sources, where the package puts them.
fn sources() -> Result<PathBuf> {
    let dir = PathBuf::from(format!("/usr/src/rustc-{}", usable_rustc()?.release));
    ensure!(dir.join("library/std/Cargo.toml").is_file(), "no library sources at {}: install rust-web-src", dir.display());
    Ok(dir)
}

fn link_sources(sh: &Sh) -> Result<()> {
    let expected = sources()?;
    let linked = std::fs::canonicalize(SOURCES).ok();
    if linked.is_some() && linked == std::fs::canonicalize(&expected).ok() {
        return Ok(());
    }
    let hint = format!("sudo ln -sfn {} {SOURCES}", expected.display());
    ensure!(apt::may_be_root(), "the compiler does not find its library sources; type `{hint}` and run again");
    let parent = Path::new(SOURCES).parent().unwrap_or(Path::new("/usr/lib"));
    sh.run(apt::as_root("mkdir").arg("-p").arg(parent))?;
    sh.run(apt::as_root("ln").arg("-sfn").arg(&expected).arg(SOURCES)).context(hint)
}

/// What the sysroot was built from; another text means that it must be built again.
fn stamp() -> Result<String> {
    let compiler = sh::read(sh::cmd(RUSTC).arg("-vV"))?;
    // The same release can be built again by Debian, and then refuses libraries of the build before.
    let file = std::fs::metadata(std::fs::canonicalize(RUSTC)?)?;
    let built = file.modified()?.duration_since(std::time::UNIX_EPOCH)?.as_secs();
    Ok(format!("{compiler}\nrustc file: {} bytes, of second {built}\n", file.len()))
}

/// Builds the library through an empty crate, then moves it into place in one step.
fn make_sysroot(sh: &Sh, linker: &Path, sysroot: &Path, stamp: &str) -> Result<()> {
    let work = paths::target("tools/wasm-sysroot.part");
    if work.exists() {
        std::fs::remove_dir_all(&work).context("cannot remove what an interrupted run left")?;
    }
    let crate_dir = work.join("empty");
    std::fs::create_dir_all(crate_dir.join("src"))?;
    let manifest = "[package]\nname = \"empty\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n";
    std::fs::write(crate_dir.join("Cargo.toml"), manifest)?;
    std::fs::write(crate_dir.join("src/lib.rs"), "")?;

    let built = work.join("target");
    let mut cargo = sh::cmd(CARGO);
    cargo.current_dir(&crate_dir).env("RUSTC", RUSTC).env("RUSTC_BOOTSTRAP", "1");
    cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1");
    cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    // Bitcode, or every crate with `lto = true` fails; and rustup's spelling of the source path, not this machine's.
    let remap = format!("--remap-path-prefix={}=/rustc", sources()?.display());
    cargo.env("CARGO_ENCODED_RUSTFLAGS", ["-Cembed-bitcode=yes", &remap].join("\u{1f}"));
    cargo.args(["build", "-Zbuild-std=std,panic_abort", "--release", "--target", TARGET, "--target-dir"]).arg(&built);
    sh.run(&mut cargo)?;

    let made = work.join("sysroot");
    let libdir = made.join("lib/rustlib").join(TARGET).join("lib");
    std::fs::create_dir_all(&libdir)?;
    for entry in std::fs::read_dir(built.join(TARGET).join("release/deps"))? {
        let file = entry?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".rlib") && !name.starts_with("libempty-") {
            std::fs::copy(&file, libdir.join(name))?;
        }
    }
    ensure!(has_std(&libdir), "the build left no whole standard library in {}", libdir.display());
    std::fs::write(made.join(STAMP), stamp)?;

    if sysroot.exists() {
        std::fs::remove_dir_all(sysroot)?;
    }
    std::fs::create_dir_all(sysroot.parent().context("no parent folder")?)?;
    std::fs::rename(&made, sysroot)?;
    // Cargo does not notice a new library of the same version (error E0463 would follow).
    for stale in ["wasm-build/debian", "wasm-build/no-std"].map(paths::target) {
        if stale.exists() {
            std::fs::remove_dir_all(stale)?;
        }
    }
    std::fs::remove_dir_all(work).context("cannot remove the build folder")
}
