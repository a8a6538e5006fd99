//! The adapter to wasmtime.

use std::collections::BTreeMap;

use wasmtime::{Caller, Engine, Func, FuncType, Linker, Memory, Module, Store, Val, ValType};

use super::{ALLOCATORS, Guest, HostFunction, LoadError, Param, Trap};

/// A module that runs in wasmtime.
pub(super) struct Instance<T: 'static> {
    store: Store<Data<T>>,
    instance: wasmtime::Instance,
    exports: BTreeMap<String, Func>,
}

struct Data<T> {
    host: T,
    memory: Option<Memory>,
    allocator: Option<Func>,
}

impl<T: Send + 'static> Instance<T> {
    pub(super) fn load(wasm: &[u8], functions: &[&'static HostFunction<T>], host: T) -> Result<Self, LoadError> {
        let engine = Engine::default();
        let module = Module::new(&engine, wasm).map_err(|error| LoadError::Malformed(format!("{error:#}")))?;
        let mut linker = Linker::new(&engine);
        for &function in functions {
            let params = function.params.iter().map(|param| match param {
                Param::I32 => ValType::I32,
                Param::I64 => ValType::I64,
            });
            let kind = FuncType::new(&engine, params, [ValType::I32]);
            linker
                .func_new("env", function.name, kind, |caller, args, results| answer(function, caller, args, results))
                .map_err(|error| LoadError::Refused(format!("{error:#}")))?;
        }
        let mut store = Store::new(&engine, Data { host, memory: None, allocator: None });
        let instance = linker.instantiate(&mut store, &module).map_err(|error| LoadError::Refused(format!("{error:#}")))?;
        let memory = instance.get_memory(&mut store, "memory");
        let allocator = ALLOCATORS.iter().find_map(|name| instance.get_func(&mut store, name));
        store.data_mut().memory = memory;
        store.data_mut().allocator = allocator;
        Ok(Self { store, instance, exports: BTreeMap::new() })
    }

    pub(super) fn exports(&mut self, name: &str) -> bool {
        self.export(name).is_some()
    }

    pub(super) fn call(&mut self, name: &str, args: &[u32]) -> Result<Option<u32>, Trap> {
        let Some(func) = self.export(name) else {
            return Ok(None);
        };
        let args: Vec<Val> = args.iter().map(|&arg| Val::I32(arg.cast_signed())).collect();
        let mut results = vec![Val::I32(0); func.ty(&self.store).results().len()];
        func.call(&mut self.store, &args, &mut results).map_err(trap)?;
        Ok(Some(results.first().and_then(Val::i32).unwrap_or(0).cast_unsigned()))
    }

    pub(super) fn host(&self) -> &T {
        &self.store.data().host
    }

    pub(super) fn host_mut(&mut self) -> &mut T {
        &mut self.store.data_mut().host
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.store.data().memory.map_or(0, |memory| memory.data_size(&self.store))
    }

    fn export(&mut self, name: &str) -> Option<Func> {
        if let Some(func) = self.exports.get(name) {
            return Some(*func);
        }
        let func = self.instance.get_func(&mut self.store, name)?;
        self.exports.insert(name.to_owned(), func);
        Some(func)
    }
}

struct Calling<'a, 'b, T: 'static>(&'a mut Caller<'b, Data<T>>);

impl<T: 'static> Guest<T> for Calling<'_, '_, T> {
    fn host(&mut self) -> &mut T {
        &mut self.0.data_mut().host
    }

    fn memory(&mut self) -> &mut [u8] {
        match self.0.data().memory {
            Some(memory) => memory.data_mut(&mut *self.0),
            None => &mut [],
        }
    }

    fn allocate(&mut self, len: u32) -> Result<u32, Trap> {
        let Some(allocator) = self.0.data().allocator else {
            return Err(Trap(format!("the guest exports no allocator ({})", ALLOCATORS.join(" or "))));
        };
        let mut results = [Val::I32(0)];
        allocator.call(&mut *self.0, &[Val::I32(len.cast_signed())], &mut results).map_err(trap)?;
        Ok(results[0].i32().unwrap_or(0).cast_unsigned())
    }
}

fn answer<T: 'static>(
    function: &'static HostFunction<T>,
    mut caller: Caller<'_, Data<T>>,
    args: &[Val],
    results: &mut [Val],
) -> wasmtime::Result<()> {
    let args: Vec<u64> = args
        .iter()
        .map(|arg| match arg {
            Val::I32(value) => u64::from(value.cast_unsigned()),
            Val::I64(value) => value.cast_unsigned(),
            _ => 0,
        })
        .collect();
    let status = (function.run)(&mut Calling(&mut caller), &args).map_err(|Trap(text)| wasmtime::Error::msg(text))?;
    if let Some(result) = results.first_mut() {
        *result = Val::I32(status.cast_signed());
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function in map_err")]
fn trap(error: wasmtime::Error) -> Trap {
    Trap(format!("{error:#}"))
}
