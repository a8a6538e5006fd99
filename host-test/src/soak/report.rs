//! The soak's tables, and what is wrong with an outcome.

use comfy_table::{CellAlignment, Table};

use super::{Outcome, Sample};

/// Rows of the memory table.
const ROWS: usize = 10;
/// As much as the largest body: it may find no hole of its size once more, late in a run. A leak of nine bytes a request is more than this in
/// twenty minutes.
const MOST_WASM_GROWTH_BYTES: u64 = 1 << 20;
/// Envoy's own memory moves with its caches: with an empty plugin it grew by an eighth in five minutes of this load. What is watched for there
/// is a leak that goes on and on.
const MOST_ANONYMOUS_GROWTH: f64 = 1.5;
/// Counters that must not move, beside their meaning.
const NEVER: [(&str, &str); 3] = [
    ("wasm.floodmark.vm_reload_success", "the plugin trapped"),
    ("wasmcustom.floodmark_host_errors", "a host call failed"),
    ("wasmcustom.floodmark_issues_issue=body_missing", "Envoy did not hand over a body"),
];

impl Outcome {
    /// Number of requests sent.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.tallies.iter().map(super::Tally::sent).sum()
    }

    /// Everything that should not be; empty when all is well.
    #[must_use]
    pub fn wrong(&self) -> Vec<String> {
        let mut wrong: Vec<String> = Vec::new();
        for tally in self.tallies.iter().filter(|tally| tally.wrong() > 0) {
            wrong.push(format!("{}: {} of {} were not {:?}: {:?}", tally.name, tally.wrong(), tally.sent(), tally.expect, tally.answers));
        }
        for (name, meaning) in NEVER {
            if let Some(count) = self.stats.get(name).filter(|count| **count > 0) {
                wrong.push(format!("{name} is {count}: {meaning}"));
            }
        }
        match self.wasm_growth_bytes() {
            Some(bytes) if bytes > MOST_WASM_GROWTH_BYTES => wrong.push(format!("wasm memory grew by {bytes} bytes after warm-up")),
            Some(_) => {}
            None => wrong.push("too few samples of memory".to_owned()),
        }
        let after: Vec<&Sample> = self.samples.iter().filter(|sample| sample.at >= self.warm_up).collect();
        let anonymous = |sample: Option<&Sample>| sample.and_then(|sample| sample.anonymous_bytes).map(|bytes| bytes as f64);
        if let (Some(first), Some(last)) = (anonymous(after.first().copied()), anonymous(after.last().copied()))
            && last > first * MOST_ANONYMOUS_GROWTH
        {
            wrong.push(format!("Envoy's memory grew after warm-up: from {first} to {last} bytes"));
        }
        wrong
    }

    /// By how much wasm memory grew after the warm-up; it never shrinks.
    #[must_use]
    pub fn wasm_growth_bytes(&self) -> Option<u64> {
        let (before, after): (Vec<_>, Vec<_>) = self.samples.iter().partition(|sample| sample.at < self.warm_up);
        let largest = |samples: Vec<&Sample>| samples.iter().map(|sample| sample.wasm_bytes).max();
        Some(largest(after)?.saturating_sub(largest(before)?))
    }

    /// Requests by kind.
    #[must_use]
    pub fn requests(&self) -> Table {
        let mut table = table(["request", "sent", "must", "answers"]);
        for tally in &self.tallies {
            let status = |status: &Option<u16>| status.map_or_else(|| "none".to_owned(), |status| status.to_string());
            let answers: Vec<_> = tally.answers.iter().map(|(answer, count)| format!("{count} x {}", status(answer))).collect();
            table.add_row([tally.name.clone(), tally.sent().to_string(), format!("{:?}", tally.expect), answers.join(", ")]);
        }
        right(&mut table, &[1]);
        table
    }

    /// What the plugin counted.
    #[must_use]
    pub fn counters(&self) -> Table {
        let mut table = table(["counter", "value"]);
        let ours = self.stats.iter().filter_map(|(name, value)| Some((name.strip_prefix("wasmcustom.")?, value)));
        for (name, value) in ours {
            table.add_row([name.to_owned(), value.to_string()]);
        }
        right(&mut table, &[1]);
        table
    }

    /// Memory at the start, at the end of the warm-up, and then on.
    #[must_use]
    pub fn memory(&self) -> Table {
        let mut table = table(["after", "wasm memory, all VMs", "Envoy, anonymous"]);
        let warm = self.samples.partition_point(|sample| sample.at < self.warm_up);
        let step = (self.samples.len() - warm).div_ceil(ROWS).max(1);
        let rest = self.samples.iter().skip(warm).step_by(step);
        for sample in self.samples.first().into_iter().chain(rest).chain(self.samples.last()) {
            let anonymous =
                sample.anonymous_bytes.map_or_else(|| "unknown".to_owned(), |bytes| format!("{:.1} MiB", bytes as f64 / 1_048_576.0));
            table.add_row([format!("{:.0} s", sample.at.as_secs_f64()), format!("{} KiB", sample.wasm_bytes / 1024), anonymous]);
        }
        right(&mut table, &[0, 1, 2]);
        table
    }
}

fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED).set_header(header);
    table
}

fn right(table: &mut Table, columns: &[usize]) {
    for column in columns {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::soak::{Expect, Tally};

    fn outcome(memory: [u64; 4]) -> Outcome {
        let sample = |(at, wasm_bytes)| Sample { at: Duration::from_secs(at), wasm_bytes, anonymous_bytes: Some(100) };
        let answers = BTreeMap::from([(Some(200), 5)]);
        Outcome {
            tallies: vec![Tally { name: "a".to_owned(), expect: Expect::Status(200), answers }],
            samples: (0..4).zip(memory).map(sample).collect(),
            warm_up: Duration::from_secs(2),
            stats: BTreeMap::new(),
        }
    }

    #[test]
    fn growth_after_warm_up_is_wrong_and_before_it_is_not() {
        let mib = |mib: u64| mib << 20;
        assert_eq!(outcome([mib(1), mib(5), mib(5), mib(6)]).wrong(), [""; 0]);
        let grown = outcome([mib(1), mib(5), mib(5), mib(6) + 1]);
        assert_eq!(grown.wrong(), ["wasm memory grew by 1048577 bytes after warm-up"]);
        assert_eq!(Outcome { warm_up: Duration::ZERO, ..outcome([1; 4]) }.wrong(), ["too few samples of memory"]);
    }

    #[test]
    fn envoys_own_growth_wrong_answers_and_traps_are_wrong() {
        let mut bad = outcome([1; 4]);
        bad.samples[3].anonymous_bytes = Some(151);
        bad.stats.insert("wasm.floodmark.vm_reload_success".to_owned(), 1);
        bad.tallies[0].answers.insert(None, 2);
        let wrong = bad.wrong();
        assert!(wrong.len() == 3 && wrong[0].starts_with("a: 2 of 7 were not Status(200)"), "{wrong:?}");
    }
}
