//! What all VMs of one gateway process share: the shared-data map, and where the metrics stand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::abi::Status;
use super::metrics::Metric;

/// One gateway process. Cloning shares it; every VM started in it sees the same shared data and moves the same metrics.
#[derive(Clone, Debug, Default)]
pub struct Process(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    /// By `vm_id`, then key: the value and its version.
    data: BTreeMap<(String, String), (Vec<u8>, u32)>,
    /// The version given out last; one row of numbers for the whole process.
    version: u32,
    /// By name and kind.
    metrics: BTreeMap<(String, u64), Metric>,
}

impl Process {
    /// A value and its version.
    pub(super) fn get_data(&self, vm_id: &str, key: &str) -> Result<(Vec<u8>, u32), Status> {
        self.lock().data.get(&(vm_id.to_owned(), key.to_owned())).cloned().ok_or(Status::NotFound)
    }

    /// Writes a value. `cas` is compared with the version only if it is not 0 and the key is there already: nothing can tell a first
    /// writer from a second.
    pub(super) fn set_data(&self, vm_id: &str, key: String, value: Vec<u8>, cas: u64) -> Result<(), Status> {
        let mut shared = self.lock();
        let key = (vm_id.to_owned(), key);
        if shared.data.get(&key).is_some_and(|(_, version)| cas != 0 && cas != u64::from(*version)) {
            return Err(Status::CasMismatch);
        }
        // 0 means "any", so it is never a version.
        shared.version = shared.version.checked_add(1).unwrap_or(1);
        let version = shared.version;
        shared.data.insert(key, (value, version));
        Ok(())
    }

    /// Works on the metrics of the process.
    pub(super) fn metrics<R>(&self, work: impl FnOnce(&mut BTreeMap<(String, u64), Metric>) -> R) -> R {
        work(&mut self.lock().metrics)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // No holder can panic between two related writes, so a poisoned lock still guards whole values.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
