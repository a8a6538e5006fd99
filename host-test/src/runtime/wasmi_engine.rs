//! The adapter to wasmi, with fuel counted.

use std::collections::BTreeMap;

use wasmi::{Caller, CompilationMode, Config, Engine, Extern, Func, FuncType, Linker, Memory, Module, Store, Val, ValType};

use super::{ALLOCATORS, Guest, HostFunction, LoadError, MAX_FUEL_PER_CALL, Param, Trap};

/// A module that runs in wasmi.
pub(super) struct Instance<T: 'static> {
    store: Store<Data<T>>,
    instance: wasmi::Instance,
    exports: BTreeMap<String, Func>,
    fuel_used: u64,
}

struct Data<T> {
    host: T,
    memory: Option<Memory>,
    allocator: Option<Func>,
}

impl<T: Send + 'static> Instance<T> {
    pub(super) fn load(wasm: &[u8], functions: &[&'static HostFunction<T>], host: T) -> Result<Self, LoadError> {
        let mut config = Config::default();
        config.consume_fuel(true);
        // Lazy translation would charge its own fuel to whichever call comes first.
        config.compilation_mode(CompilationMode::Eager);
        let engine = Engine::new(&config);
        let module = Module::new(&engine, wasm).map_err(|error| LoadError::Malformed(error.to_string()))?;
        let mut linker = Linker::new(&engine);
        for &function in functions {
            let params = function.params.iter().map(|param| match param {
                Param::I32 => ValType::I32,
                Param::I64 => ValType::I64,
            });
            linker
                .func_new("env", function.name, FuncType::new(params, [ValType::I32]), |caller, args, results| {
                    answer(function, caller, args, results)
                })
                .map_err(|error| LoadError::Refused(error.to_string()))?;
        }
        let mut store = Store::new(&engine, Data { host, memory: None, allocator: None });
        store.set_fuel(MAX_FUEL_PER_CALL).map_err(|error| LoadError::Refused(error.to_string()))?;
        let instance = linker.instantiate_and_start(&mut store, &module).map_err(|error| LoadError::Refused(error.to_string()))?;
        let memory = instance.get_memory(&store, "memory");
        let allocator = ALLOCATORS.iter().find_map(|name| instance.get_func(&store, name));
        store.data_mut().memory = memory;
        store.data_mut().allocator = allocator;
        Ok(Self { store, instance, exports: BTreeMap::new(), fuel_used: 0 })
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
        self.store.set_fuel(MAX_FUEL_PER_CALL).map_err(trap)?;
        let outcome = func.call(&mut self.store, &args, &mut results);
        self.fuel_used += MAX_FUEL_PER_CALL.saturating_sub(self.store.get_fuel().map_err(trap)?);
        outcome.map_err(trap)?;
        Ok(Some(results.first().and_then(Val::i32).unwrap_or(0).cast_unsigned()))
    }

    pub(super) fn host(&self) -> &T {
        &self.store.data().host
    }

    pub(super) fn host_mut(&mut self) -> &mut T {
        &mut self.store.data_mut().host
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.store.data().memory.map_or(0, |memory| memory.data(&self.store).len())
    }

    pub(super) fn fuel_used(&self) -> u64 {
        self.fuel_used
    }

    fn export(&mut self, name: &str) -> Option<Func> {
        if let Some(func) = self.exports.get(name) {
            return Some(*func);
        }
        let Some(Extern::Func(func)) = self.instance.get_export(&self.store, name) else {
            return None;
        };
        self.exports.insert(name.to_owned(), func);
        Some(func)
    }
}

struct Calling<'a, 'b, T>(&'a mut Caller<'b, Data<T>>);

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
) -> Result<(), wasmi::Error> {
    let args: Vec<u64> = args
        .iter()
        .map(|arg| match arg {
            Val::I32(value) => u64::from(value.cast_unsigned()),
            Val::I64(value) => value.cast_unsigned(),
            _ => 0,
        })
        .collect();
    let status = (function.run)(&mut Calling(&mut caller), &args).map_err(|Trap(text)| wasmi::Error::new(text))?;
    if let Some(result) = results.first_mut() {
        *result = Val::I32(status.cast_signed());
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function in map_err")]
fn trap(error: wasmi::Error) -> Trap {
    Trap(error.to_string())
}
