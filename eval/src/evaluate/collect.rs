//! The pass over the data: every record through the engine, one at a time; scores and outcomes are kept, texts are not.

use std::collections::BTreeSet;

use indicatif::ProgressBar;

use super::run::{Outcome, Run, Scored, Single, ToolKey};
use crate::data::{Channel, DataFile, Label, OnBroken, Record, Split, Taken, unit, unit_of};
use crate::detector::Benchmark;
use crate::engine::{Engine, Judged};
use crate::events::{Event, Scorer, of_record};
use crate::report::Origin;
use crate::requests::{self, Chat};

/// Everything that was judged.
#[derive(Debug, Default)]
pub struct Collected {
    /// Conversations and agent runs, in the order of the data.
    pub runs: Vec<Run>,
    /// Single texts, each once a unit.
    pub singles: Vec<Single>,
    /// The files that were read.
    pub origins: Vec<Origin>,
    /// Single texts that stood again in the same unit.
    pub repeated: u64,
    /// Chats and texts that the detector was not asked about: over the gateway's cap, refused unread, or its rules are off.
    pub unread: u64,
    /// Texts of nothing but white space, and conversations in which the model is never asked: there is no request that could be judged.
    pub blank: u64,
}

/// Takes in records.
pub struct Collector<'c> {
    engine: &'c mut Engine,
    /// A second detector, which every event is scored with too.
    unseen: Option<Scorer<'static>>,
    /// Which parts of the data are taken.
    wanted: &'c dyn Fn(Split) -> bool,
    /// Digests of single texts with their unit and channel.
    known: BTreeSet<[u8; 16]>,
    found: Collected,
}

impl<'c> Collector<'c> {
    /// Judges with `engine` what is in a part that is `wanted`.
    pub fn new(engine: &'c mut Engine, unseen: Option<Scorer<'static>>, wanted: &'c dyn Fn(Split) -> bool) -> Self {
        Collector { engine, unseen, wanted, known: BTreeSet::new(), found: Collected::default() }
    }

    /// Judges the records of a file; `bar` counts them. Gives what was passed over as broken.
    ///
    /// # Errors
    /// When the file cannot be read, which names the line, or the engine fails.
    pub fn file(&mut self, file: &DataFile, on_broken: OnBroken, bar: &ProgressBar) -> anyhow::Result<Taken> {
        let mut records = 0;
        let taken = file.read(on_broken, |record| {
            bar.tick();
            if (self.wanted)(record.split) {
                records += 1;
                bar.set_message(format!("{}/{}: {records} records", file.set, file.name));
                self.record(file, record)?;
            }
            Ok(())
        })?;
        self.found.origins.push(Origin::new(file, records, taken.broken));
        Ok(taken)
    }

    /// Everything that was judged.
    pub fn finish(self) -> Collected {
        self.found
    }

    fn record(&mut self, file: &DataFile, record: &Record) -> anyhow::Result<()> {
        match &record.text {
            Some(text) => self.single(file, record, text),
            None => self.run(file, record),
        }
    }

    fn single(&mut self, file: &DataFile, record: &Record, text: &str) -> anyhow::Result<()> {
        let events = of_record(&file.set, record)?;
        let Some(event) = events.first() else {
            self.found.blank += 1;
            return Ok(());
        };
        let unit = Benchmark::named(&file.set, &unit(&file.set, record));
        let mut digest = blake3::Hasher::new();
        for part in [unit.as_bytes(), event.channel.name().as_bytes(), text.as_bytes()] {
            digest.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        let mut known = [0; 16];
        known.copy_from_slice(&digest.finalize().as_bytes()[..16]);
        if !self.known.insert(known) {
            self.found.repeated += 1;
            return Ok(());
        }
        let channel = record.channel.unwrap_or(Channel::User);
        let alone = self.engine.judge(&requests::alone(text, channel))?;
        let mut outcome = Outcome::default();
        outcome.take(&alone);
        outcome.take(&self.engine.judge(&requests::after_a_question(text, channel))?);
        let score = alone.scores_of(0, 1).and_then(|scores| scores.first().copied());
        self.found.unread += u64::from(score.is_none());
        let scored = score.map(|score| self.scored(event, score));
        self.found.singles.push(Single {
            set: file.set.clone(),
            source: record.source.clone(),
            kind: event.kind.clone(),
            unit,
            label: event.label,
            event: scored,
            pattern: alone.turn_scores.first().copied().unwrap_or_default(),
            outcome,
        });
        Ok(())
    }

    fn run(&mut self, file: &DataFile, record: &Record) -> anyhow::Result<()> {
        let messages = record.messages.as_deref().unwrap_or_default();
        let all = of_record(&file.set, record)?;
        let mut outcome = Outcome::default();
        let mut events = Vec::new();
        let mut start = 0;
        let mut requests = 0;
        for chat in requests::chats(messages) {
            let [length, asked] = chat.messages();
            // A call that no request follows is in none, so that the gateway never saw it.
            let seen: Vec<&Event> = all.iter().filter(|event| (start..start + asked).contains(&event.message)).collect();
            let scores = self.chat(&chat, &mut outcome)?.and_then(|judged| scores(&judged, &seen, start));
            start += length;
            requests += asked;
            match scores {
                Some(scores) => events.extend(seen.into_iter().zip(scores).map(|(event, score)| self.scored(event, score))),
                // Too large for the gateway, or of a kind that it refuses unread.
                None => self.found.unread += u64::from(asked > 0),
            }
        }
        if requests == 0 {
            self.found.blank += 1;
            return Ok(());
        }
        let template = (record.label != Label::Benign).then(|| all.first().map_or_else(|| "-".to_owned(), |event| event.kind.clone()));
        let turns = messages.iter().filter(|message| ["user", "tool"].contains(&message.role.as_str())).count();
        self.found.runs.push(Run {
            set: file.set.clone(),
            file: file.stem().to_owned(),
            id: record.id.clone(),
            source: record.source.clone(),
            label: record.label,
            template,
            met: record.label != Label::Benign && record.injection_seen != Some(false),
            split: record.split,
            strict: record.parts().all(|part| part == record.split),
            unit: Benchmark::named(&file.set, &unit(&file.set, record)),
            task: Benchmark::named(&file.set, &unit_of(&file.set, record, false)),
            turns,
            events,
            outcome,
        });
        Ok(())
    }

    /// The judgement of the longest request of a chat.
    fn chat(&mut self, chat: &Chat, outcome: &mut Outcome) -> anyhow::Result<Option<Judged>> {
        let mut longest = None;
        for body in chat.bodies() {
            let judged = self.engine.judge(&body)?;
            outcome.take(&judged);
            let clean = judged.is_clean();
            longest.get_or_insert(judged);
            // The longest comes first: where nothing at all is found in it, nothing is in the shorter ones.
            if clean {
                break;
            }
        }
        Ok(longest)
    }

    fn scored(&mut self, event: &Event, score: f64) -> Scored {
        let unseen = self.unseen.as_mut().map(|scorer| scorer.score(&event.text));
        Scored {
            channel: event.channel,
            label: event.label,
            score,
            unseen,
            session: event.session,
            tool: event.tool.as_deref().map(ToolKey::of),
        }
    }
}

/// The score of each event of a chat whose first message is the record's `start`th; `None` where the detector was not asked about all.
fn scores(judged: &Judged, events: &[&Event], start: usize) -> Option<Vec<f64>> {
    let messages = events.chunk_by(|one, next| one.message == next.message);
    let scores: Option<Vec<Vec<f64>>> = messages.map(|events| judged.scores_of(events.first()?.message - start, events.len())).collect();
    scores.map(|scores| scores.concat())
}
