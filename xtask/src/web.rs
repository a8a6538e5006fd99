//! `cargo xtask web`: the page that judges in the browser, at target/web.
use std::path::Path;

use anyhow::{Context, Result};

use crate::sh::{self, Sh};
use crate::toolchain::{self, Cdylib};
use crate::{paths, setup};

/// Builds the page; with `serve`, serves it on this machine until interrupted.
pub fn run(sh: &Sh, serve: bool, port: u16) -> Result<()> {
    println!("{}", build(sh)?);
    if serve {
        println!("serving http://127.0.0.1:{port}/ (end with Ctrl-C)");
        let mut server = sh::cmd("python3");
        server.args(["-m", "http.server", "--bind", "127.0.0.1", "--directory"]).arg(paths::target("web"));
        sh.run(server.arg(port.to_string()))?;
    }
    Ok(())
}

/// Builds target/web; gives one line on it.
pub fn build(sh: &Sh) -> Result<String> {
    let module = paths::target("wasm/floodmark_demo.wasm");
    let demo = Cdylib { package: "floodmark-demo", profile: "web", features: &[] };
    toolchain::find(sh)?.build_cdylib(sh, &demo, &module)?;

    let _lock = setup::lock()?;
    // Made aside, so that a page that is being served is never half of one build and half of another.
    let (out, part) = (paths::target("web"), paths::target("web.part"));
    remove(&part)?;
    std::fs::create_dir_all(&part)?;
    sh.run(sh::cargo().args(["run", "--quiet", "--package", "floodmark-bindgen", "--"]).arg(&module).arg(&part))?;
    for entry in std::fs::read_dir(paths::root().join("web-demo/www"))? {
        let file = entry?.path();
        std::fs::copy(&file, part.join(file.file_name().unwrap_or_default()))
            .with_context(|| format!("cannot copy {}; web-demo/www holds plain files only", file.display()))?;
    }
    // The page's examples are the conversations of the demonstration.
    std::fs::copy(paths::root().join("testdata/demo.jsonl"), part.join("examples.jsonl")).context("cannot copy testdata/demo.jsonl")?;
    remove(&out)?;
    std::fs::rename(&part, &out)?;
    let bytes = std::fs::metadata(out.join("floodmark_demo_bg.wasm"))?.len();
    Ok(format!("{}, module of {bytes} bytes", paths::short(&out)))
}

fn remove(dir: &Path) -> Result<()> {
    if dir.exists() {
        std::fs::remove_dir_all(dir).with_context(|| format!("cannot remove {}", dir.display()))?;
    }
    Ok(())
}
