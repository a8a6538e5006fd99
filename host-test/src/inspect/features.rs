//! Which features of wasm a module cannot do without.

use wasmparser::{Validator, WasmFeatures};

/// Features worth naming, by their usual names. Those that only mean "a smaller part of another" are left out.
const NAMED: [(&str, WasmFeatures); 17] = [
    ("bulk-memory", WasmFeatures::BULK_MEMORY),
    ("exception-handling", WasmFeatures::EXCEPTIONS),
    ("extended-const", WasmFeatures::EXTENDED_CONST),
    ("function-references", WasmFeatures::FUNCTION_REFERENCES),
    ("gc", WasmFeatures::GC),
    ("memory64", WasmFeatures::MEMORY64),
    ("multi-memory", WasmFeatures::MULTI_MEMORY),
    ("multivalue", WasmFeatures::MULTI_VALUE),
    ("mutable-globals", WasmFeatures::MUTABLE_GLOBAL),
    ("nontrapping-fptoint", WasmFeatures::SATURATING_FLOAT_TO_INT),
    ("reference-types", WasmFeatures::REFERENCE_TYPES),
    ("relaxed-simd", WasmFeatures::RELAXED_SIMD),
    ("sign-ext", WasmFeatures::SIGN_EXTENSION),
    ("simd128", WasmFeatures::SIMD),
    ("tail-call", WasmFeatures::TAIL_CALL),
    ("threads", WasmFeatures::THREADS),
    ("wide-arithmetic", WasmFeatures::WIDE_ARITHMETIC),
];

/// Names of the features without which `wasm`, a valid module, is no longer valid.
pub(super) fn used(wasm: &[u8]) -> Vec<&'static str> {
    let all = WasmFeatures::all();
    let needed = |feature: &WasmFeatures| Validator::new_with_features(all.difference(*feature)).validate_all(wasm).is_err();
    NAMED.iter().filter(|(_, feature)| needed(feature)).map(|(name, _)| *name).collect()
}
