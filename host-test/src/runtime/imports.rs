//! What can be wrong with a module before it runs, found once for every engine.

use wasmparser::{CompositeInnerType, Parser, Payload, TypeRef, ValType};

use super::{HostFunction, Param};

/// Why a module cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The bytes are no wasm module, or break the format's rules.
    #[error("not a wasm module that this host can read: {0}")]
    Malformed(String),
    /// The module wants something that the host does not have.
    #[error("the module imports `{module}.{name}`, which this host does not have")]
    MissingImport {
        /// The import's module, `env` for proxy-wasm.
        module: String,
        /// The import's name.
        name: String,
    },
    /// The module wants a function under another signature than the host's.
    #[error("the module imports `{name}` as {wanted}, but this host has it as {offered}")]
    OtherType {
        /// The import's name.
        name: String,
        /// The signature in the module.
        wanted: String,
        /// The host's signature.
        offered: String,
    },
    /// The engine refused the module or its start function trapped.
    #[error("the module cannot be started: {0}")]
    Refused(String),
}

/// Compares every import with the host's list.
pub(super) fn check<T>(wasm: &[u8], functions: &[&HostFunction<T>]) -> Result<(), LoadError> {
    let mut signatures = Vec::new();
    let mut is_module = false;
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(malformed)? {
            Payload::Version { encoding, .. } => is_module = encoding == wasmparser::Encoding::Module,
            Payload::TypeSection(reader) => {
                for group in reader {
                    for sub_type in group.map_err(malformed)?.into_types() {
                        signatures.push(match sub_type.composite_type.inner {
                            CompositeInnerType::Func(func) => signature(func.params(), func.results()),
                            _ => "no function".to_owned(),
                        });
                    }
                }
            }
            Payload::ImportSection(reader) => {
                for import in reader.into_imports() {
                    let import = import.map_err(malformed)?;
                    let found = functions.iter().find(|f| import.module == "env" && f.name == import.name);
                    let (Some(function), TypeRef::Func(index)) = (found, import.ty) else {
                        return Err(LoadError::MissingImport { module: import.module.to_owned(), name: import.name.to_owned() });
                    };
                    let wanted = signatures.get(index as usize).cloned().unwrap_or_default();
                    let params: Vec<ValType> = function.params.iter().map(|&param| value_type(param)).collect();
                    let offered = signature(&params, &[ValType::I32]);
                    if wanted != offered {
                        return Err(LoadError::OtherType { name: import.name.to_owned(), wanted, offered });
                    }
                }
            }
            _ => {}
        }
    }
    if is_module { Ok(()) } else { Err(LoadError::Malformed("a component, not a core module".to_owned())) }
}

fn malformed(error: wasmparser::Error) -> LoadError {
    // The parser lays some of its messages out over many lines.
    LoadError::Malformed(error.to_string().split_whitespace().collect::<Vec<_>>().join(" "))
}

fn value_type(param: Param) -> ValType {
    match param {
        Param::I32 => ValType::I32,
        Param::I64 => ValType::I64,
    }
}

fn signature(params: &[ValType], results: &[ValType]) -> String {
    let list = |types: &[ValType]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    format!("({}) -> ({})", list(params), list(results))
}
