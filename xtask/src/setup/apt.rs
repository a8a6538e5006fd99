//! Debian packages: installed when this user may do so, otherwise named with the command to type.
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::sh::{self, Sh};

/// Installs what is missing of `packages`. `purpose` completes "needed for ...".
pub fn ensure(sh: &Sh, packages: &[&str], purpose: &str) -> Result<()> {
    let missing: Vec<&str> = packages.iter().copied().filter(|package| !installed(package)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    if sh::which("apt-get").is_none() {
        bail!("missing for {purpose}: {list} (Debian names), and there is no apt-get here; install the like of them by hand");
    }
    if !may_be_root() {
        bail!("missing for {purpose}: {list}; type `sudo apt-get install --no-install-recommends {list}` and run again");
    }
    println!("installing for {purpose}: {list}");
    sh.run(as_root("apt-get").args(["update", "-q"]))?;
    // Without --no-remove apt would take away packages in conflict, such as an older compiler that the user wants.
    let options = ["install", "-q", "-y", "--no-install-recommends", "--no-remove", "-o", "DPkg::Lock::Timeout=300"];
    sh.run(as_root("apt-get").args(options).args(&missing))
}

/// A command that root runs: as it is when we are root, by `sudo -n` otherwise.
pub fn as_root(program: &str) -> Command {
    let mut command = sh::cmd(if is_root() { "env" } else { "sudo" });
    if !is_root() {
        command.args(["-n", "env"]);
    }
    command.arg("DEBIAN_FRONTEND=noninteractive").arg(program);
    command
}

/// Whether `as_root` works without asking for a password.
pub fn may_be_root() -> bool {
    let quiet = |command: &mut Command| command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    is_root() || quiet(sh::cmd("sudo").args(["-n", "true"])).is_ok_and(|status| status.success())
}

fn is_root() -> bool {
    sh::read(sh::cmd("id").arg("-u")).is_ok_and(|id| id == "0")
}

fn installed(package: &str) -> bool {
    let status = sh::read(sh::cmd("dpkg-query").args(["-W", "-f=${db:Status-Status}", package]));
    status.is_ok_and(|status| status == "installed")
}
