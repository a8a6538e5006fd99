//! What a wasm module brings and needs: imports, exports, features, section sizes.

mod features;
mod read;

use serde::Serialize;

pub use read::{InspectError, inspect};

/// A module as it lies on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Module {
    /// Size of the whole file in bytes.
    pub total_bytes: usize,
    /// What it needs from the host, as `module.name`, in the module's order.
    pub imports: Vec<Item>,
    /// What it offers, in the module's order.
    pub exports: Vec<Item>,
    /// Features beyond the first version of wasm that the module cannot do without, sorted: each was found by
    /// validating the module with everything else allowed.
    pub features_used: Vec<&'static str>,
    /// What the compiler wrote into the section `target_features`, signs and all, sorted; `None` without that section.
    pub target_features: Option<Vec<String>>,
    /// Every section in file order.
    pub sections: Vec<Section>,
}

/// An import or export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Its name; imports with their module before it.
    pub name: String,
    /// `func`, `memory`, `table`, `global` or `tag`.
    pub kind: &'static str,
    /// Signature of a function, in words; empty for the rest.
    pub signature: String,
}

/// One section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    /// `code`, `data` and so on; custom sections as `custom "name"`, a custom one's contents without its name.
    pub name: String,
    /// Bytes of its contents, without the header.
    pub bytes: u64,
}

impl Module {
    /// Bytes of all sections of that name; 0 when there is none.
    #[must_use]
    pub fn section_bytes(&self, name: &str) -> u64 {
        self.sections.iter().filter(|section| section.name == name).map(|section| section.bytes).sum()
    }
}
