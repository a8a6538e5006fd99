//! The figures as text. A verb stands only where an interval leaves 0 out.

use std::fmt::Write as _;

use super::deltas::Deltas;
use super::figures::{Figures, Ranged};
use super::receipt::Group;
use crate::stats::Auc;

impl Figures {
    /// The report.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let [attack, rest] = &self.groups;
        let size = |(group, trajectories, events): &(Group, usize, usize)| {
            format!("{trajectories} {} trajectories ({events} events)", group.name())
        };
        line(&mut text, &format!("{} against {}; {} units in the smaller group", size(attack), size(rest), self.fewest_units));
        let source = self.drift_events.map_or("given".to_owned(), |events| format!("median of {events} benign events"));
        line(&mut text, &format!("drift {:.6} ({source})\n", self.drift));
        text += "| statistic | AUC | 95 % interval | numerator | pairs | ties |\n| --- | --- | --- | --- | --- | --- |\n";
        for found in &self.lines {
            let title = if found.name == "foil" { "per-event foil" } else { found.name };
            line(&mut text, &row(title, found.auc, found.interval));
        }
        let (best, gap) = &self.best;
        text += "\n";
        line(&mut text, &compared(&format!("{best} minus foil"), *gap, best, "the per-event foil"));
        line(&mut text, &compared("persistence minus peak", self.persistence_minus_peak, "persistence", "peak"));
        if let Some(deltas) = &self.deltas {
            text += &of_grafts(deltas);
        }
        text += "\n";
        text + &self.paths.lines()
    }
}

fn of_grafts(deltas: &Deltas) -> String {
    let mut text =
        "\n| delta to the carrier | median, attack | median, sham | AUC | 95 % interval | numerator | pairs | ties |\n".to_owned();
    text += "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for delta in &deltas.lines {
        let [attack, sham] = delta.medians;
        line(&mut text, &row(&format!("{} | {attack:+.6} | {sham:+.6}", delta.name), delta.auc, delta.interval));
    }
    text += "\n";
    for delta in &deltas.lines {
        let away = |value: f64| value - 0.5;
        let gap = Ranged { value: away(delta.auc.value()), interval: delta.interval.map(|(low, high)| (away(low), away(high))) };
        let [attack, sham] = deltas.grafts;
        let what = format!("{} delta of {attack} attack grafts and {sham} sham grafts, AUC minus .5", delta.name);
        line(&mut text, &compared(&what, gap, "attack grafts", "sham grafts"));
    }
    text
}

/// A gap with its interval, and who is ahead if that can be said.
fn compared(what: &str, gap: Ranged, one: &str, other: &str) -> String {
    let said = match gap.interval {
        None => "no interval, so no verdict".to_owned(),
        Some((low, _)) if low > 0.0 => format!("{one} ranks attacks higher than {other}"),
        Some((_, high)) if high < 0.0 => format!("{other} ranks attacks higher than {one}"),
        Some(_) => "the interval holds 0, so no verdict".to_owned(),
    };
    let interval = gap.interval.map_or(String::new(), |(low, high)| format!(" [{low:+.3}, {high:+.3}]"));
    format!("{what}: {:+.3}{interval}: {said}", gap.value)
}

fn row(title: &str, auc: Auc, interval: Option<(f64, f64)>) -> String {
    let interval = interval.map_or("-".to_owned(), |(low, high)| format!("{low:.3} to {high:.3}"));
    format!("| {title} | {:.6} | {interval} | {} | {} | {} |", auc.value(), auc.numerator(), auc.pairs, auc.ties)
}

fn line(text: &mut String, line: &str) {
    // Writing to a String does not fail.
    let _ = writeln!(text, "{line}");
}
