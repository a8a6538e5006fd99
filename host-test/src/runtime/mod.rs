//! One small interface over two wasm engines: load a module, call its exports, and answer its calls back into the host.
//!
//! The host's functions stand once, as a list of [`HostFunction`]; an engine only adapts that list. wasmi is always
//! there; wasmtime comes with the cargo feature `jit` and changes speed, never results.

mod imports;
mod wasmi_engine;
#[cfg(feature = "jit")]
mod wasmtime_engine;

use std::fmt;

pub use imports::LoadError;

/// The most fuel one call from outside may burn in wasmi, in wasmi's units (about one an instruction): a guest that
/// never returns becomes an error within minutes instead of a hang.
pub const MAX_FUEL_PER_CALL: u64 = 100_000_000_000;

/// The names under which a proxy-wasm guest offers its allocator, in the order Envoy looks for them.
const ALLOCATORS: [&str; 2] = ["proxy_on_memory_allocate", "malloc"];

/// Which engine runs the guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Engine {
    /// The interpreter: quick to build and to load, deterministic, counts fuel.
    #[default]
    Wasmi,
    /// The compiler: runs as fast as Envoy's V8, counts nothing.
    #[cfg(feature = "jit")]
    Wasmtime,
}

/// Type of a host function's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// 32 bits, handed over zero-extended.
    I32,
    /// 64 bits.
    I64,
}

/// One function that a guest may import from module `env`; every one returns a single `i32`.
pub struct HostFunction<T: 'static> {
    /// The import's name.
    pub name: &'static str,
    /// Parameter types, in order.
    pub params: &'static [Param],
    /// What it does; the arguments come in the order of `params`.
    pub run: fn(&mut dyn Guest<T>, &[u64]) -> Result<u32, Trap>,
}

impl<T> fmt::Debug for HostFunction<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.name, self.params)
    }
}

/// The guest as a host function sees it while the guest waits for the answer.
pub trait Guest<T> {
    /// The host's own state.
    fn host(&mut self) -> &mut T;
    /// The guest's whole linear memory.
    fn memory(&mut self) -> &mut [u8];
    /// Calls the guest's allocator for `len` bytes and returns the address.
    ///
    /// # Errors
    /// When the guest exports no allocator or traps in it.
    fn allocate(&mut self, len: u32) -> Result<u32, Trap>;
}

/// The guest died; the text says how, in the engine's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Trap(pub String);

/// A loaded module with its memory and the host's state.
pub struct Vm<T: 'static>(Inner<T>);

enum Inner<T: 'static> {
    Wasmi(Box<wasmi_engine::Instance<T>>),
    #[cfg(feature = "jit")]
    Wasmtime(Box<wasmtime_engine::Instance<T>>),
}

impl<T: 'static> fmt::Debug for Vm<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Inner::Wasmi(_) => "Vm(wasmi)",
            #[cfg(feature = "jit")]
            Inner::Wasmtime(_) => "Vm(wasmtime)",
        })
    }
}

impl<T: Send + 'static> Vm<T> {
    /// Reads a module, checks its imports against `functions` and runs its start function if it has one.
    ///
    /// # Errors
    /// [`LoadError`] names the first import that is not there or has another type, or what is wrong with the module.
    pub fn load(engine: Engine, wasm: &[u8], functions: &[&'static HostFunction<T>], host: T) -> Result<Self, LoadError> {
        imports::check(wasm, functions)?;
        Ok(Self(match engine {
            Engine::Wasmi => Inner::Wasmi(Box::new(wasmi_engine::Instance::load(wasm, functions, host)?)),
            #[cfg(feature = "jit")]
            Engine::Wasmtime => Inner::Wasmtime(Box::new(wasmtime_engine::Instance::load(wasm, functions, host)?)),
        }))
    }

    /// Whether the module exports a function of that name.
    #[must_use]
    pub fn exports(&mut self, name: &str) -> bool {
        match &mut self.0 {
            Inner::Wasmi(vm) => vm.exports(name),
            #[cfg(feature = "jit")]
            Inner::Wasmtime(vm) => vm.exports(name),
        }
    }

    /// Calls an exported function of `i32` parameters; `None` when it is not exported, `Some(0)` when it returns nothing.
    ///
    /// # Errors
    /// When the guest traps, runs out of [`MAX_FUEL_PER_CALL`], or the export has other types.
    pub fn call(&mut self, name: &str, args: &[u32]) -> Result<Option<u32>, Trap> {
        match &mut self.0 {
            Inner::Wasmi(vm) => vm.call(name, args),
            #[cfg(feature = "jit")]
            Inner::Wasmtime(vm) => vm.call(name, args),
        }
    }

    /// The host's own state.
    #[must_use]
    pub fn host(&self) -> &T {
        match &self.0 {
            Inner::Wasmi(vm) => vm.host(),
            #[cfg(feature = "jit")]
            Inner::Wasmtime(vm) => vm.host(),
        }
    }

    /// The host's own state, to change.
    pub fn host_mut(&mut self) -> &mut T {
        match &mut self.0 {
            Inner::Wasmi(vm) => vm.host_mut(),
            #[cfg(feature = "jit")]
            Inner::Wasmtime(vm) => vm.host_mut(),
        }
    }

    /// Size of the guest's memory in bytes; it only grows.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match &self.0 {
            Inner::Wasmi(vm) => vm.memory_bytes(),
            #[cfg(feature = "jit")]
            Inner::Wasmtime(vm) => vm.memory_bytes(),
        }
    }

    /// All fuel burnt so far: the same number for the same work, on any machine. `None` where the engine counts none.
    #[must_use]
    pub fn fuel_used(&self) -> Option<u64> {
        match &self.0 {
            Inner::Wasmi(vm) => Some(vm.fuel_used()),
            #[cfg(feature = "jit")]
            Inner::Wasmtime(_) => None,
        }
    }
}
