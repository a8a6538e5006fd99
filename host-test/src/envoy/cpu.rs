//! Processor time of the Envoy process: what a request costs there, whatever else keeps the machine busy or asleep.

use anyhow::Context as _;
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

use super::Envoy;

impl Envoy {
    /// Seconds that all its threads have computed since it started. Exact while it is idle.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn cpu_seconds(&self) -> anyhow::Result<f64> {
        let pid = Pid::from_raw(i32::try_from(self.id()).context("no process has such an id")?);
        let time =
            clock_getcpuclockid(pid).and_then(clock_gettime).with_context(|| format!("cannot read the processor time of process {pid}"))?;
        Ok(time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
    }
}
