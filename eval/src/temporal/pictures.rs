//! Pictures of agent runs: histograms of a statistic, and CUSUM traces of some runs.

use super::Lens;
use super::population::Population;
use super::statistic::{Statistic, View, path};
use crate::report::{Axis, Level, Mark, Plot, Section, Series};

/// Group names, attacked first.
const GROUPS: [&str; 2] = ["attacked", "benign"];
/// Where in their group, by persistence, the traced runs stand.
const TRACED: [(f64, &str); 3] = [(0.5, "median"), (0.9, "ninth of ten"), (1.0, "highest")];

pub(super) fn section(lenses: &[Lens<'_>]) -> Section {
    let mut section = Section::new("trajectory-pictures", "Agent runs: histograms and traces");
    section.text(
        "Histograms show shares of the runs of each kind. Traces are those of the runs at the median, at nine tenths and at the top of their kind \
         by persistence; they end where the run ends.",
    );
    for lens in lenses {
        for population in &lens.found.list {
            section.plot(histogram(lens, population, "peak", Statistic::Peak));
            section.plot(histogram(lens, population, "persistence", Statistic::Persistence(lens.detector.levels.drift)));
            section.plot(histogram(lens, population, "rarity peak", Statistic::Rarity));
        }
        if let Some(population) = lens.found.list.first() {
            section.plot(traces(lens, population));
        }
    }
    section
}

/// A plot's name in files, of small letters and dashes.
fn id(parts: &[&str]) -> String {
    let letters = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    parts.join("-").chars().map(letters).collect()
}

fn histogram(lens: &Lens<'_>, population: &Population<'_>, name: &str, statistic: Statistic) -> Plot {
    let values = population.groups.each_ref().map(|views| views.iter().map(|view| view.value(statistic)).collect::<Vec<f64>>());
    let highest = if statistic == Statistic::Peak { 1.0 } else { values.iter().flatten().copied().fold(f64::MIN_POSITIVE, f64::max) };
    // Benign first, in the colour that it has everywhere.
    let series = GROUPS.iter().zip(&values).rev().map(|(group, values)| Series::bars(*group, values, highest));
    let levels = lens.detector.levels;
    let level = match statistic {
        Statistic::Peak => vec![Level { name: "tau".to_owned(), at: levels.tau_event, upright: true }],
        Statistic::Persistence(_) => vec![Level { name: "alarm".to_owned(), at: levels.alarm, upright: true }],
        _ => Vec::new(),
    };
    Plot {
        id: id(&["histogram", name, lens.name, &population.name]),
        title: format!("{name}, {}, {}", population.name, lens.name),
        x: Axis::new(name, 0.0, highest),
        y: Axis::share("share of the runs"),
        series: series.collect(),
        levels: level,
    }
}

fn traces(lens: &Lens<'_>, population: &Population<'_>) -> Plot {
    let drift = lens.detector.levels.drift;
    let mut series = Vec::new();
    let mut longest = 1;
    for (group, views) in GROUPS.iter().zip(&population.groups) {
        let mut ordered: Vec<(f64, &View<'_>)> = views.iter().map(|view| (view.value(Statistic::Persistence(drift)), view)).collect();
        ordered.sort_by(|(one, view), (other, next)| one.total_cmp(other).then_with(|| view.run.id.cmp(&next.run.id)));
        for (place, name) in TRACED {
            let Some((_, view)) = ordered.get(((ordered.len() - 1) as f64 * place) as usize) else { continue };
            longest = longest.max(view.scores.len());
            let points = path(&view.scores, drift).into_iter().enumerate().map(|(at, cusum)| [(at + 1) as f64, cusum]);
            series.push(Series { name: format!("{group}, {name}"), mark: Mark::Line, points: points.collect() });
        }
    }
    let highest = series.iter().flat_map(|series| &series.points).map(|point| point[1]).fold(lens.detector.levels.alarm, f64::max);
    Plot {
        id: id(&["cusum", lens.name, &population.name]),
        title: format!("CUSUM of some runs, {}, {}", population.name, lens.name),
        x: Axis::new("event", 1.0, longest as f64),
        y: Axis::new("CUSUM", 0.0, highest * 1.05),
        series,
        levels: vec![Level { name: "alarm".to_owned(), at: lens.detector.levels.alarm, upright: false }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_files_are_plain() {
        assert_eq!(
            id(&["cusum", "wrapper unseen", "agentdyn/trajectories_defended"]),
            "cusum-wrapper-unseen-agentdyn-trajectories-defended"
        );
    }
}
