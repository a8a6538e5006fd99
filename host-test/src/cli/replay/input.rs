//! Lines of a file or of standard input, with a progress bar when a person watches.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _};
use std::path::Path;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};

/// Reads line by line; blank lines are passed over but counted.
pub(super) struct Lines {
    reader: Box<dyn BufRead>,
    name: String,
    number: usize,
    bar: ProgressBar,
}

impl Lines {
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let (reader, name, len): (Box<dyn BufRead>, _, _) = if path == Path::new("-") {
            (Box::new(io::stdin().lock()), "standard input".to_owned(), None)
        } else {
            let name = path.display().to_string();
            let file =
                File::open(path).with_context(|| format!("cannot read {name}; give a file of JSON lines, or - for standard input"))?;
            let len = file.metadata().with_context(|| format!("cannot read {name}"))?.len();
            (Box::new(BufReader::new(file)), name, Some(len))
        };
        Ok(Self { reader, name, number: 0, bar: bar(len) })
    }

    /// The next line with its 1-based number, without its line break.
    pub(super) fn next_line(&mut self) -> anyhow::Result<Option<(usize, Vec<u8>)>> {
        loop {
            let mut text = Vec::new();
            let read = self.reader.read_until(b'\n', &mut text).with_context(|| format!("cannot read {}", self.name))?;
            if read == 0 {
                return Ok(None);
            }
            self.bar.inc(read as u64);
            self.number += 1;
            // A byte order mark belongs to the file, not to its first line's JSON.
            let text = if self.number == 1 { text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text) } else { &text };
            let text = text.trim_ascii();
            if !text.is_empty() {
                return Ok(Some((self.number, text.to_vec())));
            }
        }
    }

    /// What to call the input in messages.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Writes something without tearing the progress bar.
    pub(super) fn aside<R>(&self, write: impl FnOnce() -> R) -> R {
        self.bar.suspend(write)
    }

    /// Takes the progress bar away.
    pub(super) fn done(&self) {
        self.bar.finish_and_clear();
    }
}

fn bar(len: Option<u64>) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    match len {
        Some(len) => {
            let bar = ProgressBar::new(len);
            match ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {eta}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        }
        None => ProgressBar::new_spinner(),
    }
}
