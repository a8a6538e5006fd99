//! Records of one gzip'd file of JSON lines, one at a time.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use anyhow::Context as _;
use flate2::bufread::MultiGzDecoder;

use super::record::Record;

/// The records of a file. Only one line is in memory at a time.
pub struct Records {
    reader: BufReader<MultiGzDecoder<BufReader<File>>>,
    name: String,
    line: Vec<u8>,
    number: usize,
}

impl Records {
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        let reader = BufReader::new(MultiGzDecoder::new(BufReader::new(file)));
        Ok(Self { reader, name, line: Vec::new(), number: 0 })
    }

    /// The next record.
    ///
    /// # Errors
    /// When the file is no gzip, or a line is no record; the error names file and line.
    pub fn next_record(&mut self) -> anyhow::Result<Option<Record>> {
        loop {
            self.line.clear();
            self.number += 1;
            let read = self.reader.read_until(b'\n', &mut self.line).with_context(|| {
                format!("{}:{}: no gzip, or cut off; compress JSON lines with `gzip -n` or copy the file again", self.name, self.number)
            })?;
            if read == 0 {
                return Ok(None);
            }
            if self.line.trim_ascii().is_empty() {
                continue;
            }
            let record: Record = serde_json::from_slice(&self.line).with_context(|| {
                let shape = "one object with id, source, label and split, and either messages or text and channel";
                format!("{}:{}: not a record ({shape}); mend the line or leave it out", self.name, self.number)
            })?;
            if record.messages.is_some() == record.text.is_some() {
                anyhow::bail!("{}:{}: a record needs either messages or a text; mend the line or leave it out", self.name, self.number);
            }
            return Ok(Some(record));
        }
    }
}
