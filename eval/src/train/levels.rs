//! From weights to a detector: the table of bytes, the sigmoid, and the levels, the last two on dev.

use std::collections::BTreeMap;

use anyhow::Context as _;
use floodmark_core::Detector;
use floodmark_core::detector::{Levels, LinearModel, Member, Model, Platt};

use crate::calibrate::{Alarm, Benign, Drift, Plan, above_all, alarm, at_level};
use crate::events::{Channel, Event, Label, Scorer, views};

use super::crates::{CRATES, Piece};
use super::fit::Weights;
use super::platt::{self, Point};
use super::recipe::Recipe;

/// Share of benign conversations of any length that may be blocked for an event, and likewise for an alarm.
const ANY_LENGTH: f64 = 0.005;
/// Name of the member.
pub const MEMBER: &str = "linear";
/// What one event would lack of the alarm level, so that a score of 1 does not reach it.
const ABOVE: f64 = 1e-6;
/// Conversations are told apart by length at these numbers of events.
const LENGTHS: [usize; 4] = [1, 5, 20, usize::MAX];
/// The alarm level of all runs of one caller together: no benign conversation says what many of them in a row do.
const CALLER_ALARM: f64 = 3.0;
/// An event at or above this is more likely an attack than not, both being as frequent (DESIGN.md 8).
const TAU_EVENT: f64 = 0.5;

/// The member's table.
#[derive(Clone, Debug)]
pub struct Table {
    pub weights: Vec<u8>,
    pub unit: f64,
    pub bias: f64,
}

impl Table {
    /// Rounds weights to bytes.
    pub fn new(weights: &Weights, recipe: &Recipe) -> Self {
        let mut sizes: Vec<f32> = weights.buckets.iter().map(|weight| weight.abs()).collect();
        sizes.sort_by(f32::total_cmp);
        let largest = sizes[((sizes.len() - 1) as f64 * recipe.table.largest_quantile) as usize];
        let unit = f64::from(largest) / 127.0;
        let byte = |weight: &f32| ((f64::from(*weight) / unit).round().clamp(-127.0, 127.0) as i8).cast_unsigned();
        let weights_as_bytes = if unit > 0.0 { weights.buckets.iter().map(byte).collect() } else { vec![0; sizes.len()] };
        Table { weights: weights_as_bytes, unit, bias: weights.bias.into() }
    }

    /// The model with this sigmoid.
    fn model(&self, platt: Platt) -> LinearModel<'_> {
        LinearModel { weights: &self.weights, unit: self.unit, bias: self.bias, platt }
    }

    /// The detector's members with this sigmoid.
    pub fn members(&self, platt: Platt) -> [Member<'_>; 1] {
        [Member { name: MEMBER, model: Model::Linear(self.model(platt)) }]
    }
}

/// What was found on dev.
#[derive(Clone, Debug)]
pub struct Calibrated {
    pub platt: Platt,
    pub levels: Levels,
    /// The median score of benign events, which the paper takes for the drift.
    pub median: f64,
    /// What the alarm level does.
    pub alarm: Alarm,
    /// What the blocking level does to whole conversations.
    pub block: Alarm,
}

/// Events of one benign conversation or run of dev.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    pub unit: String,
    pub events: Vec<(Channel, String)>,
}

impl Conversation {
    /// A tool's result that is a piece of a crate's file.
    pub fn of_piece(piece: Piece) -> Self {
        Conversation { unit: piece.unit(), events: vec![(Channel::ToolResult, piece.text)] }
    }
}

/// Calibrates a table.
///
/// # Errors
/// When dev holds too little to say anything.
pub fn calibrate(table: &Table, dev: &[&Event], conversations: &[Conversation], recipe: &Recipe) -> anyhow::Result<Calibrated> {
    let platt = sigmoid(table, dev);
    // The levels are not needed to score.
    let levels = Levels { tau_event: TAU_EVENT, event_block: 1.0, drift: 0.0, alarm: f64::MAX, caller_alarm: f64::MAX };
    let members = table.members(platt);
    let detector = Detector { members: &members, levels, version: "" };
    let mut scorer = Scorer::new(&detector);
    let mut runs: Vec<Benign> = Vec::new();
    let mut highest: Vec<Benign> = Vec::new();
    for conversation in conversations {
        let scored: Vec<(Channel, f64)> = conversation.events.iter().map(|(channel, text)| (*channel, scorer.score(text))).collect();
        // A call's score alone blocks nothing.
        let turns = scored.iter().filter(|(channel, _)| channel.is_turn()).map(|(_, score)| *score).fold(0.0, f64::max);
        highest.push(Benign { unit: conversation.unit.clone(), scores: vec![turns] });
        runs.push(Benign { unit: conversation.unit.clone(), scores: scored.into_iter().map(|(_, score)| score).collect() });
    }
    let plan = Plan { seed: recipe.seed, ..Plan::default() };
    let single = Plan { block_events: 1, ..plan };
    let asked = Plan { false_alarms: recipe.levels.event_false_alarms, draws: draws_for(recipe.levels.event_false_alarms), ..single };
    let all = alarm(&highest, 0.0, &asked).context("the blocking level")?.level;
    // What agents read all day is a group of its own.
    let files: Vec<Benign> = highest.iter().filter(|one| one.unit.starts_with(CRATES)).cloned().collect();
    let groups = by_length(&runs, &highest).chain([files]);
    let event_block = groups_level(groups, 0.0, &Plan { false_alarms: ANY_LENGTH, ..single })?.max(all);
    let block = at_level(&highest, 0.0, event_block, &single)?;
    let drift = Drift::Quantile(recipe.levels.drift_quantile).of(&runs)?;
    let share = recipe.levels.trajectory_false_alarms;
    let seen = alarm(&runs, drift, &Plan { false_alarms: share, draws: draws_for(share), ..plan }).context("the alarm level")?;
    // No single event reaches 1 - k: what one event says is the blocking level's part.
    let of_groups = groups_level(by_length(&runs, &runs), drift, &Plan { false_alarms: ANY_LENGTH, ..plan })?;
    let level = of_groups.max(seen.level).max(above_all(&runs, drift)?).max(1.0 - drift + ABOVE);
    let levels = Levels { tau_event: TAU_EVENT, event_block, drift, alarm: level, caller_alarm: CALLER_ALARM };
    Ok(Calibrated { platt, levels, median: Drift::Median.of(&runs)?, alarm: at_level(&runs, drift, level, &plan)?, block })
}

/// `list`, which stands beside `runs`, in bands of the runs' lengths.
fn by_length<'b>(runs: &'b [Benign], list: &'b [Benign]) -> impl Iterator<Item = Vec<Benign>> + 'b {
    LENGTHS.windows(2).map(move |ends| {
        let fits = |(run, _): &(&Benign, &Benign)| (ends[0]..ends[1]).contains(&run.scores.len());
        runs.iter().zip(list).filter(fits).map(|(_, one)| one.clone()).collect()
    })
}

/// The highest of the levels of groups; 0 without any.
fn groups_level(groups: impl Iterator<Item = Vec<Benign>>, drift: f64, plan: &Plan) -> anyhow::Result<f64> {
    let mut groups = groups.filter(|some| !some.is_empty());
    groups.try_fold(0.0, |highest, some| Ok(alarm(&some, drift, plan)?.level.max(highest)))
}

/// Draws of which enough lie beyond the level.
fn draws_for(share: f64) -> usize {
    ((100.0 / share).ceil() as usize).max(Plan::default().draws)
}

/// The sigmoid over dev's events, each source of a label counting alike.
fn sigmoid(table: &Table, dev: &[&Event]) -> Platt {
    let model = table.model(Platt { slope: 1.0, offset: 0.0 });
    let mut sources: BTreeMap<(&str, Label), f64> = BTreeMap::new();
    for event in dev {
        *sources.entry((&event.source, event.label)).or_default() += 1.0;
    }
    let point = |event: &&Event| {
        let margin = views(&event.text).iter().filter_map(|view| Some(model.highest(view)?.margin)).fold(f64::NEG_INFINITY, f64::max);
        let weight = 1.0 / sources[&(event.source.as_str(), event.label)];
        margin.is_finite().then_some(Point { margin, attack: event.label == Label::Attack, weight })
    };
    platt::fit(&dev.iter().filter_map(point).collect::<Vec<_>>())
}
