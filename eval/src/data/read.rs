//! Records of one file of JSON lines, plain or gzip'd, one at a time; and what becomes of broken lines.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use anyhow::Context as _;
use flate2::bufread::MultiGzDecoder;

use super::DataFile;
use super::record::{Channel, Record};

/// A longer line is no record: it would be all in memory.
const MAX_LINE: u64 = 64 << 20;
/// How many broken lines are told one by one.
const TOLD: usize = 20;
/// How much is said of one.
const TOLD_LETTERS: usize = 300;
/// What to do about a broken line.
const ADVICE: &str = "mend the line or leave it out; docs/data-format.md has the shapes";

/// What becomes of a file with a broken line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnBroken {
    /// Reading stops there.
    #[default]
    Stop,
    /// The line is counted and told, and reading goes on.
    Skip,
}

/// What was read of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The file.
    pub file: String,
    /// Records that were read.
    pub records: usize,
    /// Lines that were skipped since they are broken.
    pub broken: usize,
    /// The first of them: line, and what is wrong with it.
    pub first: Vec<(usize, String)>,
}

impl fmt::Display for Taken {
    /// A line for each of the first broken lines, and one for how many there are; nothing where none is.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (line, what) in &self.first {
            writeln!(formatter, "{}:{line}: {what}: skipped", self.file)?;
        }
        let more = self.broken - self.first.len();
        if more > 0 {
            writeln!(formatter, "{}: {more} more", self.file)?;
        }
        match self.broken {
            0 => Ok(()),
            broken => writeln!(formatter, "{}: {broken} broken lines skipped, {} records read", self.file, self.records),
        }
    }
}

/// The records of a file. Only one line is in memory at a time.
pub struct Records {
    reader: Box<dyn BufRead>,
    name: String,
    /// The file's name without its ending.
    stem: String,
    line: Vec<u8>,
    number: usize,
    max_line: u64,
}

impl Records {
    pub(super) fn open(path: &Path, stem: &str) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let mut file = BufReader::new(File::open(path).with_context(|| format!("cannot open {name}"))?);
        // By content: the ending may be anything.
        let zipped = file.fill_buf().with_context(|| format!("cannot read {name}"))?.starts_with(&[0x1f, 0x8b]);
        let reader: Box<dyn BufRead> = if zipped { Box::new(BufReader::new(MultiGzDecoder::new(file))) } else { Box::new(file) };
        Ok(Self { reader, name, stem: stem.to_owned(), line: Vec::new(), number: 0, max_line: MAX_LINE })
    }

    /// The next record.
    ///
    /// # Errors
    /// When the file cannot be read or its gzip is cut off, or a line is no record; the error names file and line.
    pub fn next_record(&mut self) -> anyhow::Result<Option<Record>> {
        match self.next_line()? {
            Some(Err(what)) => Err(self.stopped(&what)),
            Some(Ok(record)) => Ok(Some(record)),
            None => Ok(None),
        }
    }

    /// Gives `take` every record.
    ///
    /// # Errors
    /// As [`Self::next_record`], but for broken lines that are to be skipped; and what `take` says of a record, with its line and id.
    pub(super) fn each(mut self, on_broken: OnBroken, mut take: impl FnMut(&Record) -> anyhow::Result<()>) -> anyhow::Result<Taken> {
        let mut taken = Taken { file: self.name.clone(), records: 0, broken: 0, first: Vec::new() };
        while let Some(line) = self.next_line()? {
            match (line, on_broken) {
                (Ok(record), _) => {
                    taken.records += 1;
                    take(&record).with_context(|| format!("{}:{}: record {}", self.name, self.number, record.id))?;
                }
                (Err(what), OnBroken::Stop) => return Err(self.stopped(&what)),
                (Err(what), OnBroken::Skip) => {
                    taken.broken += 1;
                    if taken.first.len() < TOLD {
                        taken.first.push((self.number, what));
                    }
                }
            }
        }
        Ok(taken)
    }

    /// The next line that is not blank: its record, or what is wrong with it.
    fn next_line(&mut self) -> anyhow::Result<Option<Result<Record, String>>> {
        loop {
            self.line.clear();
            self.number += 1;
            let read = (&mut self.reader).take(self.max_line + 1).read_until(b'\n', &mut self.line);
            let read = read.with_context(|| self.unreadable())?;
            if read == 0 {
                return Ok(None);
            }
            if read as u64 > self.max_line {
                self.pass_line()?;
                return Ok(Some(Err(format!("a line of more than {} MiB", self.max_line >> 20))));
            }
            let mut line = self.line.trim_ascii_end();
            if self.number == 1 {
                // Some editors put a byte order mark before everything.
                line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
            }
            if !line.is_empty() {
                return Ok(Some(self.record(line).map_err(|what| told(&what))));
            }
        }
    }

    /// Reads on to the end of a line that is too long, keeping nothing.
    fn pass_line(&mut self) -> anyhow::Result<()> {
        while self.line.last() != Some(&b'\n') {
            self.line.clear();
            let read = (&mut self.reader).take(1 << 16).read_until(b'\n', &mut self.line);
            if read.with_context(|| self.unreadable())? == 0 {
                break;
            }
        }
        self.line = Vec::new();
        Ok(())
    }

    fn stopped(&self, what: &str) -> anyhow::Error {
        anyhow::anyhow!("{}:{}: {what}; {ADVICE}", self.name, self.number)
    }

    fn unreadable(&self) -> String {
        format!("{}:{}: cannot be read, or its gzip is cut off or damaged; copy the file again", self.name, self.number)
    }

    fn record(&self, line: &[u8]) -> Result<Record, String> {
        if line.trim_ascii_start().starts_with(b"[") {
            return Err("a list, where each line is to be one object; `jq -c '.[]'` makes lines of a list".to_owned());
        }
        let mut record: Record = serde_json::from_slice(line).map_err(said)?;
        if record.messages.is_some() == record.text.is_some() {
            let found = if record.text.is_some() { "both `messages` and `text`" } else { "neither `messages` nor `text`" };
            return Err(format!("{found}, where a record has one of them"));
        }
        if record.id.is_empty() {
            record.id = format!("line {}", self.number);
            // Files of one set count their lines alike.
            if record.unit.is_none() && record.task.is_none() {
                record.unit = Some(format!("{} line {}", self.stem, self.number));
            }
        }
        if record.source.is_empty() {
            record.source.clone_from(&self.stem);
        }
        if record.text.is_some() {
            record.channel.get_or_insert(Channel::User);
        }
        Ok(record)
    }
}

/// What is wrong, where it holds words of the line: not much of them, and nothing that a terminal would obey.
fn told(what: &str) -> String {
    let mut told = String::new();
    for letter in what.chars().take(TOLD_LETTERS) {
        if letter.is_control() { told.extend(letter.escape_default()) } else { told.push(letter) }
    }
    if what.chars().nth(TOLD_LETTERS).is_some() {
        told.push_str(" ..");
    }
    told
}

/// What serde says, without its own line, which is always the first.
fn said(error: serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let mut said = text.strip_suffix(&place).unwrap_or(&text).to_owned();
    if error.column() > 0 {
        let _ = write!(said, " at byte {}", error.column());
    }
    if error.is_data() { said } else { format!("no JSON: {said}") }
}

impl DataFile {
    /// The records, one by one.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn records(&self) -> anyhow::Result<Records> {
        Records::open(&self.path, self.stem())
    }

    /// Gives `take` every record.
    ///
    /// # Errors
    /// When the file cannot be read or a line is broken, which names file and line, or what `take` says of a record, with its line and id.
    pub fn each(&self, take: impl FnMut(&Record) -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.read(OnBroken::Stop, take).map(drop)
    }

    /// Gives `take` every record, and says what was read; broken lines are skipped on request.
    ///
    /// # Errors
    /// As [`Self::each`]; a file that cannot be read, or whose gzip is cut off, is an error on any request.
    pub fn read(&self, on_broken: OnBroken, take: impl FnMut(&Record) -> anyhow::Result<()>) -> anyhow::Result<Taken> {
        self.records()?.each(on_broken, take)
    }
}
