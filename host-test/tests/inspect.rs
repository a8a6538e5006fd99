//! Inspection of modules written for it, and the command as a user runs it.

use std::process::{Command, Output};

use floodmark_host::inspect::{InspectError, Item, Section, inspect};

fn module(wat: &str) -> Vec<u8> {
    wat::parse_str(wat).unwrap()
}

fn item(name: &str, kind: &'static str, signature: &str) -> Item {
    Item { name: name.to_owned(), kind, signature: signature.to_owned() }
}

const SMALL: &str = r#"(module
  (import "env" "log" (func (param i32 i64) (result i32)))
  (import "env" "table" (table 1 funcref))
  (func $add (export "add") (param f64) (result f64) local.get 0)
  (memory (export "memory") 1)
  (global (export "g") i32 (i32.const 1))
  (data (i32.const 0) "abc"))"#;

#[test]
fn imports_exports_and_sections_are_read() {
    let wasm = module(SMALL);
    let seen = inspect(&wasm).unwrap();
    assert_eq!(seen.imports, [item("env.log", "func", "(i32, i64) -> (i32)"), item("env.table", "table", "")]);
    assert_eq!(seen.exports, [item("add", "func", "(f64) -> (f64)"), item("memory", "memory", ""), item("g", "global", "")]);
    let names: Vec<_> = seen.sections.iter().map(|section| section.name.as_str()).collect();
    assert_eq!(names, ["type", "import", "function", "memory", "global", "export", "code", "data", "custom \"name\""]);
    // Data: one segment: count, flags, i32.const 0, end, length, three bytes. Code: count, length, no locals, local.get 0, end.
    assert_eq!((seen.section_bytes("data"), seen.section_bytes("code"), seen.section_bytes("element")), (9, 6, 0));
    assert_eq!(seen.sections[3], Section { name: "memory".to_owned(), bytes: 3 });
    assert_eq!((seen.total_bytes, seen.target_features), (wasm.len(), None));
}

#[test]
fn features_are_those_that_the_code_needs() {
    let features = |body: &str| inspect(&module(&format!("(module (memory 1) {body})"))).unwrap().features_used;
    assert_eq!(features("(func (result i32) i32.const 1)"), [""; 0]);
    for (feature, body) in [
        ("bulk-memory", "(func (memory.copy (i32.const 0) (i32.const 0) (i32.const 0)))"),
        ("extended-const", "(global i32 (i32.add (i32.const 1) (i32.const 1)))"),
        ("multivalue", "(func (result i32 i32) i32.const 1 i32.const 1)"),
        ("multi-memory", "(memory 1)"),
        ("nontrapping-fptoint", "(func (drop (i32.trunc_sat_f32_s (f32.const 1))))"),
        ("reference-types", "(table 1 externref)"),
        ("sign-ext", "(func (drop (i32.extend8_s (i32.const 1))))"),
        ("simd128", "(func (drop (v128.const i64x2 0 0)))"),
        ("tail-call", "(func $f return_call $f)"),
        ("threads", "(memory 1 1 shared)"),
    ] {
        assert!(features(body).contains(&feature), "{feature}: {:?}", features(body));
    }
}

#[test]
fn the_declared_features_are_read_from_their_section() {
    // Two entries: + and "simd128", - and "atomics".
    let section = r#"(module (@custom "target_features" "\02+\07simd128-\07atomics"))"#;
    assert_eq!(inspect(&module(section)).unwrap().target_features.unwrap(), ["+simd128", "-atomics"]);
    let broken = inspect(&module(r#"(module (@custom "target_features" "\02+\70simd128"))"#)).unwrap_err();
    assert!(matches!(broken, InspectError::Invalid(_)), "{broken:?}");
}

#[test]
fn what_is_no_module_is_told() {
    assert_eq!(inspect(b""), Err(InspectError::NoWasm));
    assert_eq!(inspect(b"PK\x03\x04 a zip"), Err(InspectError::NoWasm));
    assert_eq!(inspect(&module("(component)")), Err(InspectError::Component));
    let wasm = module(SMALL);
    for cut in [4, 8 + 1, wasm.len() / 2, wasm.len() - 1] {
        assert!(matches!(inspect(&wasm[..cut]), Err(InspectError::Invalid(_))), "cut at {cut}");
    }
}

fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_floodmark-host")).arg("inspect").args(args).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn the_command_prints_a_table_or_json_and_clear_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("a.wasm"), module(SMALL)).unwrap();
    std::fs::write(path("b.wasm"), "<html>").unwrap();
    let (code, out, _) = run(&[&path("a.wasm")]);
    assert_eq!(code, Some(0));
    for words in ["env.log", "(i32, i64) -> (i32)", "whole file", "features used: none", "no section target_features"] {
        assert!(out.contains(words), "{words}:\n{out}");
    }
    let (_, out, _) = run(&[&path("a.wasm"), "--format", "json"]);
    assert_eq!(out.lines().count(), 1);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((json["imports"][0]["name"].as_str(), json["sections"][7]["bytes"].as_u64()), (Some("env.log"), Some(9)));
    for (file, words) in [("b.wasm", "cannot inspect"), ("c.wasm", "cannot read")] {
        let (code, out, errors) = run(&[&path(file)]);
        assert_eq!((code, out.as_str()), (Some(1), ""));
        assert!(errors.contains(words) && errors.contains(file), "{errors}");
    }
}
