//! Reads a module section by section.

use std::ops::Range;

use wasmparser::{
    BinaryReader, CompositeInnerType, Encoding, ExternalKind, FuncType, Parser, Payload, TypeRef, ValType, Validator, WasmFeatures,
};

use super::{Item, Module, Section, features};

/// Why a file cannot be inspected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InspectError {
    /// The first bytes are not those of wasm.
    #[error("it is no wasm file: it does not begin with the bytes 00 61 73 6d")]
    NoWasm,
    /// A component, which gateways do not load.
    #[error("it is a wasm component; gateways load core modules")]
    Component,
    /// The module breaks a rule of the format.
    #[error("the module is not valid: {0}")]
    Invalid(String),
}

/// Reads and validates a module.
///
/// # Errors
/// When the bytes are no valid core module.
pub fn inspect(wasm: &[u8]) -> Result<Module, InspectError> {
    if !wasm.starts_with(b"\0asm") {
        return Err(InspectError::NoWasm);
    }
    if wasm.get(6) == Some(&1) {
        return Err(InspectError::Component);
    }
    Validator::new_with_features(WasmFeatures::all()).validate_all(wasm).map_err(invalid)?;
    let mut reader = Reader::default();
    for payload in Parser::new(0).parse_all(wasm) {
        reader.section(payload.map_err(invalid)?)?;
    }
    Ok(Module {
        total_bytes: wasm.len(),
        imports: reader.imports,
        exports: reader.exports,
        features_used: features::used(wasm),
        target_features: reader.target_features,
        sections: reader.sections,
    })
}

#[derive(Default)]
struct Reader {
    types: Vec<String>,
    /// Signature of every function, imported ones first, as indices count.
    functions: Vec<String>,
    imports: Vec<Item>,
    exports: Vec<Item>,
    target_features: Option<Vec<String>>,
    sections: Vec<Section>,
}

impl Reader {
    fn section(&mut self, payload: Payload<'_>) -> Result<(), InspectError> {
        self.sections.extend(section_of(&payload));
        match payload {
            Payload::Version { encoding: Encoding::Component, .. } => return Err(InspectError::Component),
            Payload::TypeSection(section) => {
                for group in section {
                    for sub_type in group.map_err(invalid)?.into_types() {
                        self.types.push(match &sub_type.composite_type.inner {
                            CompositeInnerType::Func(func) => signature(func),
                            _ => String::new(),
                        });
                    }
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import.map_err(invalid)?;
                    let (kind, signature) = self.describe(import.ty);
                    if let TypeRef::Func(_) | TypeRef::FuncExact(_) = import.ty {
                        self.functions.push(signature.clone());
                    }
                    self.imports.push(Item { name: format!("{}.{}", import.module, import.name), kind, signature });
                }
            }
            Payload::FunctionSection(section) => {
                for index in section {
                    let index = index.map_err(invalid)?;
                    self.functions.push(self.type_of(index));
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export.map_err(invalid)?;
                    let (kind, signature) = match export.kind {
                        ExternalKind::Func | ExternalKind::FuncExact => {
                            ("func", self.functions.get(export.index as usize).cloned().unwrap_or_default())
                        }
                        ExternalKind::Table => ("table", String::new()),
                        ExternalKind::Memory => ("memory", String::new()),
                        ExternalKind::Global => ("global", String::new()),
                        ExternalKind::Tag => ("tag", String::new()),
                    };
                    self.exports.push(Item { name: export.name.to_owned(), kind, signature });
                }
            }
            Payload::CustomSection(section) if section.name() == "target_features" => {
                self.target_features = Some(target_features(section.data()).map_err(invalid)?);
            }
            _ => {}
        }
        Ok(())
    }

    fn describe(&self, kind: TypeRef) -> (&'static str, String) {
        match kind {
            TypeRef::Func(index) | TypeRef::FuncExact(index) => ("func", self.type_of(index)),
            TypeRef::Table(_) => ("table", String::new()),
            TypeRef::Memory(_) => ("memory", String::new()),
            TypeRef::Global(_) => ("global", String::new()),
            TypeRef::Tag(_) => ("tag", String::new()),
        }
    }

    fn type_of(&self, index: u32) -> String {
        self.types.get(index as usize).cloned().unwrap_or_default()
    }
}

/// The section that a payload stands for; a payload inside a section stands for none.
fn section_of(payload: &Payload<'_>) -> Option<Section> {
    let section = |name: &str, range: Range<u64>| Some(Section { name: name.to_owned(), bytes: range.end - range.start });
    match payload {
        Payload::CustomSection(custom) => {
            Some(Section { name: format!("custom \"{}\"", custom.name()), bytes: custom.data().len() as u64 })
        }
        Payload::TypeSection(reader) => section("type", reader.range()),
        Payload::ImportSection(reader) => section("import", reader.range()),
        Payload::FunctionSection(reader) => section("function", reader.range()),
        Payload::TableSection(reader) => section("table", reader.range()),
        Payload::MemorySection(reader) => section("memory", reader.range()),
        Payload::TagSection(reader) => section("tag", reader.range()),
        Payload::GlobalSection(reader) => section("global", reader.range()),
        Payload::ExportSection(reader) => section("export", reader.range()),
        Payload::StartSection { range, .. } => section("start", range.clone()),
        Payload::ElementSection(reader) => section("element", reader.range()),
        Payload::DataCountSection { range, .. } => section("data count", range.clone()),
        Payload::CodeSectionStart { unchecked_range, .. } => section("code", unchecked_range.clone()),
        Payload::DataSection(reader) => section("data", reader.range()),
        _ => None,
    }
}

/// The section's form is a list of a sign (`+` used, `-` must not be used) and a name; see the tool conventions of WebAssembly.
fn target_features(data: &[u8]) -> Result<Vec<String>, wasmparser::Error> {
    let mut reader = BinaryReader::new(data, 0);
    let mut features = Vec::new();
    for _ in 0..reader.read_var_u32()? {
        let sign = char::from(reader.read_u8()?);
        features.push(format!("{sign}{}", reader.read_string()?));
    }
    features.sort();
    Ok(features)
}

fn signature(func: &FuncType) -> String {
    let list = |types: &[ValType]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    format!("({}) -> ({})", list(func.params()), list(func.results()))
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function in map_err")]
fn invalid(error: wasmparser::Error) -> InspectError {
    InspectError::Invalid(error.to_string())
}
