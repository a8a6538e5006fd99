//! wasm-bindgen's command at the very version of the crate: `floodmark-bindgen MODULE.wasm OUT_DIR`.
use anyhow::{Context, Result};

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let (Some(module), Some(out), None) = (args.next(), args.next(), args.next()) else {
        anyhow::bail!("usage: floodmark-bindgen MODULE.wasm OUT_DIR");
    };
    let mut bindgen = wasm_bindgen_cli_support::Bindgen::new();
    bindgen.input_path(&module).web(true)?.typescript(false).remove_name_section(true).remove_producers_section(true);
    bindgen.generate(out).with_context(|| format!("cannot make bindings for {module}"))
}
