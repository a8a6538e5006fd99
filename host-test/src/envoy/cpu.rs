//! Processor time of the Envoy process: what a request costs there, whatever else keeps the machine busy or asleep.

use super::Envoy;

impl Envoy {
    /// Seconds that all its threads have computed since it started, exact while it is idle; `None` where the system does not tell.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn cpu_seconds(&self) -> Option<f64> {
        use nix::time::{clock_getcpuclockid, clock_gettime};

        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.id()).ok()?);
        let time = clock_getcpuclockid(pid).and_then(clock_gettime).ok()?;
        Some(time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
    }

    /// The same on other systems.
    #[cfg(not(target_os = "linux"))]
    #[must_use]
    pub fn cpu_seconds(&self) -> Option<f64> {
        None
    }
}
