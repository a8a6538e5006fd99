//! Which runs are compared with which: attacked ones that met the attack with benign ones, of one benchmark or of several.

use std::collections::{BTreeMap, BTreeSet};

use super::rarity::{References, Which, site};
use super::statistic::{Statistic, View};
use crate::detector::Benchmark;
use crate::evaluate::Run;
use crate::stats::{Auc, Compared, Plan, Samples, Spread};

/// Its runs' tool observations stand in the assistant's own words, which no event holds: nothing that a gateway scores differs between attacked and
/// benign ones.
const OBSERVES_IN_WORDS: &str = "asb_drift";
/// With fewer tasks in a group there is nothing that an interval could be drawn from.
const MIN_TASKS: usize = 3;

/// Runs of both kinds.
pub(super) struct Population<'r> {
    pub name: String,
    /// Attacked ones, benign ones.
    pub groups: [Vec<View<'r>>; 2],
    samples: Samples,
}

/// The populations of some runs, and what is in none.
#[derive(Default)]
pub(super) struct Populations<'r> {
    /// One for each benchmark or file with enough tasks of both kinds, then several together.
    pub list: Vec<Population<'r>>,
    /// Names of the others, and how many attacked and benign runs there are.
    pub too_few: Vec<(String, [usize; 2])>,
    /// Attacked runs that never met the attack.
    pub never_met: usize,
    /// Runs without an event, or with one that the detector gave no number.
    pub unscored: usize,
}

impl<'r> Populations<'r> {
    pub fn new(runs: &'r [Run], which: Which, references: &References, plan: Plan) -> Self {
        let mut found = Populations::default();
        let mut named: BTreeMap<String, [Vec<View<'r>>; 2]> = BTreeMap::new();
        for run in runs.iter().filter(|run| super::is_agent_run(run)) {
            match (run.is_attack(), View::new(run, which, references)) {
                (None, _) => found.never_met += 1,
                (Some(attack), Some(view)) => named.entry(name(run)).or_default()[usize::from(!attack)].push(view),
                (Some(_), None) => found.unscored += 1,
            }
        }
        if let Some([attacked, benign]) = named.get(super::GOALS_OF) {
            let held_out: Vec<View<'r>> = attacked.iter().filter(|view| view.run.strict).cloned().collect();
            if !held_out.is_empty() && held_out.len() < attacked.len() {
                found.add(super::strict_name(), [held_out, benign.clone()], plan);
            }
        }
        let mut all: [Vec<View<'r>>; 2] = [Vec::new(), Vec::new()];
        let mut seen: [Vec<View<'r>>; 2] = [Vec::new(), Vec::new()];
        let (mut sides, mut shown) = (0, 0);
        for (name, groups) in named {
            for (group, views) in groups.iter().enumerate() {
                all[group].extend(views.iter().cloned());
                if views.first().is_some_and(|view| view.run.set != OBSERVES_IN_WORDS) {
                    seen[group].extend(views.iter().cloned());
                }
            }
            sides += 1;
            shown += usize::from(groups.iter().flatten().next().is_some_and(|view| view.run.set != OBSERVES_IN_WORDS));
            found.add(name, groups, plan);
        }
        if sides > shown && shown > 0 {
            found.add(format!("all but {OBSERVES_IN_WORDS}"), seen, plan);
        }
        if sides > 1 {
            found.add("all agent runs".to_owned(), all, plan);
        }
        found
    }

    fn add(&mut self, name: String, groups: [Vec<View<'r>>; 2], plan: Plan) {
        let tasks = |views: &Vec<View<'_>>| views.iter().map(|view| &view.run.task).collect::<BTreeSet<_>>().len();
        if groups.iter().any(|views| tasks(views) < MIN_TASKS) {
            self.too_few.push((name, groups.map(|views| views.len())));
        } else {
            self.list.push(Population::new(name, groups, plan));
        }
    }
}

/// The population of a run: its benchmark where several sets make one, else its set, with the file where that is not all of it.
fn name(run: &Run) -> String {
    match (Benchmark::of(&run.set), run.file.as_str()) {
        (Some(Benchmark::AgentDojo), _) => site(&run.set).to_owned(),
        (_, super::AGENT_RUNS) => run.set.clone(),
        (_, file) => format!("{}/{file}", run.set),
    }
}

impl<'r> Population<'r> {
    fn new(name: String, groups: [Vec<View<'r>>; 2], plan: Plan) -> Self {
        let tasks = groups.each_ref().map(|views| views.iter().map(|view| view.run.task.clone()).collect::<Vec<_>>());
        Population { name, samples: Samples::new([&tasks[0], &tasks[1]], plan), groups }
    }

    /// Tasks of the group that has fewer.
    pub fn fewest_tasks(&self) -> usize {
        self.samples.fewest_units
    }

    /// Scores of all benign events.
    pub fn benign_scores(&self) -> Vec<f64> {
        self.groups[1].iter().flat_map(|view| view.scores.iter().copied()).collect()
    }

    /// Attacked runs against benign ones in a statistic.
    pub fn compare(&self, statistic: Statistic) -> Compared {
        let [attack, benign] = self.values(statistic);
        self.samples.compare([&attack, &benign])
    }

    fn values(&self, statistic: Statistic) -> [Vec<Vec<f64>>; 2] {
        self.groups.each_ref().map(|views| views.iter().map(|view| view.values(statistic)).collect())
    }

    /// The same, over the pairs of one task only: what the task is then plays no part. A task counts by its pairs.
    pub fn within_tasks(&self, statistic: Statistic) -> Spread {
        let mut tasks: BTreeMap<usize, [Vec<f64>; 2]> = BTreeMap::new();
        for (group, (units, values)) in
            [self.samples.units(crate::stats::Group::Positives), self.samples.units(crate::stats::Group::Negatives)]
                .into_iter()
                .zip(self.values(statistic))
                .enumerate()
        {
            for (&unit, values) in units.iter().zip(values) {
                tasks.entry(unit).or_default()[group].extend(values);
            }
        }
        let counted: Vec<(usize, Auc)> = tasks.into_iter().map(|(unit, [attack, benign])| (unit, Auc::of(&attack, &benign))).collect();
        self.samples.spread(|times| {
            let sum = |of: &dyn Fn(&Auc) -> u64| counted.iter().map(|(unit, auc)| u64::from(times[*unit]) * of(auc)).sum::<u64>() as f64;
            sum(&|auc| auc.doubled) / 2.0 / sum(&|auc| auc.pairs)
        })
    }

    /// The same, over the pairs of runs with the same number of events: what length tells then plays no part. `None` where there is no such pair.
    pub fn within_lengths(&self, statistic: Statistic) -> Option<Auc> {
        let mut lengths: BTreeMap<usize, [Vec<f64>; 2]> = BTreeMap::new();
        for (group, views) in self.groups.iter().enumerate() {
            views.iter().for_each(|view| lengths.entry(view.scores.len()).or_default()[group].push(view.value(statistic)));
        }
        let mut all = Auc::default();
        for [attack, benign] in lengths.values() {
            let auc = Auc::of(attack, benign);
            all = Auc { doubled: all.doubled + auc.doubled, pairs: all.pairs + auc.pairs, ties: all.ties + auc.ties };
        }
        (all.pairs > 0).then_some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;
    use crate::events::Channel::User;

    const PLAN: Plan = Plan { draws: 200, seed: 1 };

    fn of(runs: &[Run]) -> Populations<'_> {
        Populations::new(runs, Which::Record, &References::default(), PLAN)
    }

    #[test]
    fn runs_are_compared_within_tasks_and_lengths() {
        // Attack .9 over benign .8 in task a, .3 over .2 in b, .5 over .4 in c. Over all pairs .3 and .5 are under .8, and .3 under .4: 6 of 9.
        let one = |id: &str, task: &str, attack: bool, scores: &[f64]| {
            let events: Vec<_> = scores.iter().map(|&score| (User, score)).collect();
            Run { task: task.to_owned(), ..run(id, attack, &events) }
        };
        let runs = [
            one("1", "a", true, &[0.9, 0.1]),
            one("2", "a", false, &[0.8]),
            one("3", "b", true, &[0.3]),
            one("4", "b", false, &[0.2, 0.2]),
            one("5", "c", true, &[0.5, 0.5, 0.5]),
            one("6", "c", false, &[0.4, 0.4, 0.4, 0.4]),
        ];
        let found = of(&runs);
        let [population] = found.list.as_slice() else { panic!("one file is one population") };
        assert_eq!((population.fewest_tasks(), population.benign_scores()), (3, vec![0.8, 0.2, 0.2, 0.4, 0.4, 0.4, 0.4]));
        assert_eq!(population.compare(Statistic::Peak).auc, Auc { doubled: 12, pairs: 9, ties: 0 });
        assert_eq!(population.within_tasks(Statistic::Peak).value, 1.0);
        // Of two events: .9 over .2. Of one: .3 under .8.
        assert_eq!(population.within_lengths(Statistic::Peak), Some(Auc { doubled: 2, pairs: 2, ties: 0 }));
    }

    #[test]
    fn who_never_met_the_attack_is_in_no_group() {
        let mut met_not = run("1", true, &[(User, 0.9)]);
        met_not.met = false;
        let mut runs = vec![met_not, run("2", false, &[(User, 0.1)]), run("3", false, &[]), run("4", true, &[(User, f64::NAN)])];
        for task in ["a", "b", "c"] {
            for (set, attack, score) in [("other", true, 0.9), (OBSERVES_IN_WORDS, true, 0.4), (OBSERVES_IN_WORDS, false, 0.4)] {
                runs.push(Run { set: set.to_owned(), task: format!("{set}: {task}"), ..run(task, attack, &[(User, score)]) });
            }
        }
        let found = of(&runs);
        assert_eq!((found.never_met, found.unscored), (1, 2));
        let too_few = [("other".to_owned(), [3, 0]), ("set".to_owned(), [0, 1]), ("all but asb_drift".to_owned(), [3, 1])];
        assert_eq!(found.too_few, too_few);
        let names: Vec<&str> = found.list.iter().map(|population| population.name.as_str()).collect();
        assert_eq!(names, ["asb_drift", "all agent runs"]);
        // Six attacks against .1 and three of .4: those of .9 win 12 pairs, those of .4 win 3 and are level in 9.
        assert_eq!(found.list[1].compare(Statistic::Peak).auc.numerator(), 19.5);
    }
}
