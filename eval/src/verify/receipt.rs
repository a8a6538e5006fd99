//! Score receipts as they are read back: trajectories with their events by position, and what is wrong with a row.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};

/// What a trajectory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    /// One that was attacked; in a paired design one with an attack grafted on.
    Attack,
    /// An honest one.
    Benign,
    /// One with something harmless grafted on.
    Sham,
    /// One as it was before anything was grafted on.
    Native,
}

/// One trajectory of a receipt.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trajectory {
    pub group: Group,
    /// Its independence unit; the trajectory itself where the receipt names none.
    pub unit: String,
    /// The native trajectory that it was made from, where the receipt names one.
    pub carrier: Option<String>,
    /// Scores by position.
    pub scores: Vec<f64>,
    /// Whether its rows stood in another order.
    pub unordered: bool,
    /// Line of its first row.
    pub line: u64,
}

/// A receipt's trajectories by their ids.
pub(super) type Receipt = BTreeMap<String, Trajectory>;

/// The columns that every receipt has, and those that it may have.
const COLUMNS: [&str; 4] = ["trajectory_id", "group", "position", "score"];
const FURTHER: [&str; 2] = ["unit", "carrier"];

/// Where the columns stand.
struct Header {
    columns: [usize; 4],
    further: [Option<usize>; 2],
    /// Number of fields of a row.
    fields: usize,
}

/// A row's cells, checked one by one.
struct Row<'r> {
    id: &'r str,
    group: Group,
    position: u64,
    score: f64,
    unit: Option<&'r str>,
    carrier: Option<&'r str>,
}

/// Reads the receipt of a file, whose groups are among `groups`.
pub(super) fn read(path: &Path, groups: &[Group]) -> anyhow::Result<Receipt> {
    let name = path.display().to_string();
    let bytes = fs::read(path).with_context(|| format!("cannot read the receipt {name}"))?;
    parse(&bytes, &name, groups)
}

/// Reads a receipt; errors begin with `name` and the line.
pub(super) fn parse(bytes: &[u8], name: &str, groups: &[Group]) -> anyhow::Result<Receipt> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let header = Header::of(reader.headers().with_context(|| format!("{name}:1: no header"))?).with_context(|| format!("{name}:1"))?;
    let mut rows: BTreeMap<String, Vec<(u64, f64, u64)>> = BTreeMap::new();
    let mut receipt = Receipt::new();
    for record in reader.records() {
        let record = record.with_context(|| format!("{name}: not CSV in UTF-8"))?;
        let line = record.position().map_or(0, csv::Position::line);
        let at = || format!("{name}:{line}");
        let row = header.row(&record, groups).with_context(at)?;
        match receipt.get(row.id) {
            None => {
                receipt.insert(row.id.to_owned(), row.trajectory(line));
            }
            Some(known) => row.belongs_to(known).with_context(at)?,
        }
        rows.entry(row.id.to_owned()).or_default().push((row.position, row.score, line));
    }
    for (id, mut rows) in rows {
        let Some(trajectory) = receipt.get_mut(&id) else { continue };
        trajectory.unordered = !rows.is_sorted_by_key(|&(position, ..)| position);
        rows.sort_by_key(|&(position, _, line)| (position, line));
        if let Some([(position, _, first), (.., second)]) = rows.array_windows().find(|[one, next]| one.0 == next.0) {
            bail!("{name}:{second}: position {position} of trajectory `{id}` is there twice, first in line {first}");
        }
        trajectory.scores = rows.into_iter().map(|(_, score, _)| score).collect();
    }
    Ok(receipt)
}

impl Header {
    fn of(names: &csv::StringRecord) -> anyhow::Result<Self> {
        let find = |name: &str| -> anyhow::Result<Option<usize>> {
            let mut places = names.iter().enumerate().filter(|(_, found)| *found == name).map(|(place, _)| place);
            let place = places.next();
            ensure!(places.next().is_none(), "two columns `{name}`");
            Ok(place)
        };
        let mut columns = [0; 4];
        for (place, name) in columns.iter_mut().zip(COLUMNS) {
            *place = find(name)?.with_context(|| format!("no column `{name}`; a receipt has the columns {}", COLUMNS.join(", ")))?;
        }
        let further = [find(FURTHER[0])?, find(FURTHER[1])?];
        Ok(Self { columns, further, fields: names.len() })
    }

    fn row<'r>(&self, record: &'r csv::StringRecord, groups: &[Group]) -> anyhow::Result<Row<'r>> {
        ensure!(record.len() == self.fields, "{} fields, but the header has {}", record.len(), self.fields);
        let [id, group, position, score] = self.columns.map(|place| &record[place]);
        ensure!(!id.is_empty(), "no trajectory_id");
        ensure!(!group.is_empty(), "no group");
        let group = groups.iter().copied().find(|known| known.name() == group).with_context(|| {
            let known: Vec<&str> = groups.iter().map(|group| group.name()).collect();
            format!("group `{group}` is none of {}", known.join(", "))
        })?;
        let position = position.parse().ok().with_context(|| format!("position `{position}` is no whole number from 0 on"))?;
        let number = score.parse().ok().filter(|score: &f64| score.is_finite());
        let score = number.with_context(|| format!("score `{score}` is no finite number"))?;
        let [unit, carrier] = self.further.map(|place| place.map(|place| &record[place]).filter(|cell| !cell.is_empty()));
        Ok(Row { id, group, position, score, unit, carrier })
    }
}

impl Row<'_> {
    fn trajectory(&self, line: u64) -> Trajectory {
        Trajectory {
            group: self.group,
            unit: self.unit.unwrap_or(self.id).to_owned(),
            carrier: self.carrier.map(str::to_owned),
            scores: Vec::new(),
            unordered: false,
            line,
        }
    }

    /// All rows of a trajectory say the same about it.
    fn belongs_to(&self, known: &Trajectory) -> anyhow::Result<()> {
        let first = known.line;
        ensure!(self.group == known.group, "trajectory `{}` is in another group in line {first}", self.id);
        ensure!(self.unit.unwrap_or(self.id) == known.unit, "trajectory `{}` has another unit in line {first}", self.id);
        ensure!(self.carrier == known.carrier.as_deref(), "trajectory `{}` has another carrier in line {first}", self.id);
        Ok(())
    }
}

impl Group {
    pub(super) fn name(self) -> &'static str {
        match self {
            Group::Attack => "attack",
            Group::Benign => "benign",
            Group::Sham => "sham",
            Group::Native => "native",
        }
    }
}
