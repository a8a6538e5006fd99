//! `floodmark-host inspect`: prints what a module brings and needs.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::Format;
use crate::inspect::{self, Item, Module};

/// Shows imports, exports, features and section sizes of a wasm module.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The module.
    file: PathBuf,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

impl Args {
    /// Reads the module and prints it.
    ///
    /// # Errors
    /// When the file cannot be read or is no valid wasm module.
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        let path = self.file.display();
        let wasm = std::fs::read(&self.file).with_context(|| format!("cannot read {path}"))?;
        let module = inspect::inspect(&wasm).with_context(|| format!("cannot inspect {path}"))?;
        let text = match self.format {
            Format::Json => serde_json::to_string(&module)?,
            Format::Table => table(&module),
        };
        super::print(&text)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn table(module: &Module) -> String {
    let mut sections = new_table(["section", "bytes"]);
    for section in &module.sections {
        sections.add_row([&section.name, &section.bytes.to_string()]);
    }
    sections.add_row(["whole file", &module.total_bytes.to_string()]);
    if let Some(column) = sections.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let declared = match &module.target_features {
        Some(features) => features.join(" "),
        None => "no section target_features".to_owned(),
    };
    format!(
        "{}\n\n{}\n\n{sections}\n\nfeatures used: {}\nfeatures declared: {declared}",
        items("import", &module.imports),
        items("export", &module.exports),
        if module.features_used.is_empty() { "none".to_owned() } else { module.features_used.join(" ") },
    )
}

fn items(title: &str, items: &[Item]) -> Table {
    let mut table = new_table([title, "kind", "signature"]);
    for item in items {
        table.add_row([&item.name, item.kind, &item.signature]);
    }
    table
}

fn new_table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic).set_header(header);
    table
}
