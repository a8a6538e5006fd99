//! The record of a run: bounded, versioned, and checked when it is read.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::kept::Lasts;
use super::marks::Marks;
use super::turns::Turns;
use super::{Context, Counted, MAX_MS, Noted, fits, heat, passed};
use crate::conversation::{Streak, Turn};
use crate::detected::Detecting;
use crate::judge::Judge;
use crate::limits::{MAX_RUN_BYTES, RUN_HEADS, RUN_HEADS_MIXED, RUN_OUTGOING, RUN_TAIL};
use crate::trajectory::Trajectory;
use crate::wire::Direction;

/// A record that is none of this version, or holds what no record does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// First byte of a run's record.
const VERSION: u8 = 2;

/// No event adds more than 1.
pub(crate) const MAX_SUM: f64 = u32::MAX as f64;

/// The start of a keyed digest by which an event is known again.
pub(crate) type Fingerprint = [u8; 4];

/// Something was found outside the messages.
pub(crate) const FRAME_HIT: u8 = 1;
/// No longer one of the same history was judged since.
pub(crate) const LAST: u8 = 2;

/// A history that was judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// Its number of events, all in messages.
    pub events: u16,
    /// Their chain.
    pub chain: [u8; 8],
    /// The digest of what stood outside the messages.
    pub frame: [u8; 8],
    /// What it was judged under, [`super::conditions`].
    pub under: [u8; 3],
    /// [`FRAME_HIT`] and [`LAST`].
    pub bits: u8,
    /// The running sum of this history alone: what other branches of the run lower or reset does not lower it.
    pub sum: f32,
    /// [`Streak::pack`], or 0 when it is not known.
    pub streak: u16,
}

/// What is remembered of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The categories that its turns hit, [`Judge::catalogue`].
    pub(crate) catalogue: [u8; 8],
    pub(crate) touched_ms: u64,
    pub(crate) events: u32,
    pub(crate) over: u32,
    pub(crate) peak: f64,
    /// The running sum of the statistics, which no alarm resets.
    pub(crate) sum: f64,
    pub(crate) persistence: f64,
    /// The running sum since the last alarm.
    pub(crate) cusum: f64,
    pub(crate) alarms: u16,
    pub(crate) restarts: u16,
    pub(crate) rewritten: u16,
    pub(crate) overflow: bool,
    pub(crate) turns: Turns,
    pub(crate) last: Lasts,
    /// The newest first.
    pub(crate) heads: Vec<Head>,
    /// The last events of the history that was judged last, in its order.
    pub(crate) tail: Vec<Fingerprint>,
    pub(crate) marks: Marks,
    /// Assistant texts that left, the newest last.
    pub(crate) outgoing: Vec<Fingerprint>,
}

impl Run {
    /// Reads a record. Never panics, whatever the bytes.
    ///
    /// # Errors
    /// When it is none of this version, has bytes behind its end, or holds a number that no record does.
    pub fn decode(bytes: &[u8]) -> Result<Self, Unreadable> {
        let Some((&VERSION, rest)) = bytes.split_first().filter(|_| bytes.len() <= MAX_RUN_BYTES) else { return Err(Unreadable) };
        let (run, rest) = postcard::take_from_bytes::<Run>(rest).map_err(|_| Unreadable)?;
        if rest.is_empty() && run.is_sound() { Ok(run) } else { Err(Unreadable) }
    }

    /// The record, at most [`MAX_RUN_BYTES`].
    pub fn encode(&self) -> Vec<u8> {
        // Only a failing allocation fails here, and that does not return.
        postcard::to_extend(self, Vec::from([VERSION])).unwrap_or_default()
    }

    fn is_sound(&self) -> bool {
        let sums = [self.sum, self.persistence, self.cusum];
        self.over <= self.events
            && self.touched_ms <= MAX_MS
            && (0.0..=1.0).contains(&self.peak)
            && sums.iter().all(|sum| (0.0..=MAX_SUM).contains(sum))
            && self.sum <= self.persistence
            && self.turns.is_sound()
            && self.last.is_sound()
            && self.marks.is_sound()
            && self.heads.len() <= self.most_heads()
            && self.heads.iter().all(|head| head.bits <= FRAME_HIT | LAST)
            && self.heads.iter().all(|head| (0.0..=MAX_SUM as f32).contains(&head.sum))
            && self.heads.iter().all(|head| head.events > 0 && (head.streak == 0 || Streak::unpack(head.streak).is_some()))
            && self.tail.len() <= RUN_TAIL
            && self.outgoing.len() <= RUN_OUTGOING
    }

    /// How many heads there is room for: a run whose history is both brought and kept, which none should be, keeps the newest.
    pub(crate) fn most_heads(&self) -> usize {
        if self.turns.count() == 0 && self.last.is_empty() { RUN_HEADS } else { RUN_HEADS_MIXED }
    }

    /// Where other categories are looked for than those that the turns hit, what these hit says nothing.
    pub(crate) fn catalogued(&mut self, judge: &Judge<'_>) {
        if self.catalogue != judge.catalogue() {
            self.turns.forget_hits();
        }
        self.catalogue = judge.catalogue();
    }

    /// Adds turns of a history that the server keeps.
    pub(crate) fn add_turns(&mut self, turns: &[(Turn, Option<u16>)]) {
        self.turns.add(turns.iter().copied());
        self.last.grown(turns.len());
        self.heads.truncate(self.most_heads());
    }

    /// How much an eviction of it would forget, which is what eviction compares.
    pub fn heat(&self) -> f32 {
        heat(self.cusum, self.alarms > 0)
    }

    /// Events that counted: user messages, tool results and calls.
    pub fn events(&self) -> u32 {
        self.events
    }

    /// Events at or over the threshold of suspicion.
    pub fn over(&self) -> u32 {
        self.over
    }

    /// Turns, where the server keeps the history.
    pub fn turns(&self) -> u32 {
        self.turns.count()
    }

    /// The highest score of an event.
    pub fn peak(&self) -> f64 {
        self.peak
    }

    /// The running sum since the last alarm, as it was at [`Run::touched_ms`].
    pub fn cusum(&self) -> f64 {
        self.cusum
    }

    /// The highest value of the sum that no alarm resets.
    pub fn persistence(&self) -> f64 {
        self.persistence
    }

    /// How often the sum reached the alarm level.
    pub fn alarms(&self) -> u32 {
        self.alarms.into()
    }

    /// Requests that began another conversation of the same caller and opening.
    pub fn restarts(&self) -> u32 {
        self.restarts.into()
    }

    /// Requests whose history did not go on from one that was judged.
    pub fn rewritten(&self) -> u32 {
        self.rewritten.into()
    }

    /// Whether more stood in it than is remembered.
    pub fn overflow(&self) -> bool {
        self.overflow
    }

    /// Unix time in milliseconds of the last body that was judged in it.
    pub fn touched_ms(&self) -> u64 {
        self.touched_ms
    }

    /// Takes what is noted of a response, whatever was stored since it began.
    pub fn absorb(&mut self, noted: &Noted, judge: &Judge<'_>, context: &Context<'_>) {
        let (mut stats, mut cusum) = self.at(context);
        if let Some(detecting) = judge.detecting() {
            self.add(detecting, &mut stats, &mut cusum, &noted.counted);
        }
        self.store(stats, cusum);
        self.catalogued(judge);
        self.add_turns(&noted.counted.turns);
        if noted.last.is_some() {
            self.last.set(Direction::Response, noted.last.clone());
            self.heads.truncate(self.most_heads());
        }
        noted.texts.iter().for_each(|text| self.note_outgoing(*text));
    }

    fn add(&mut self, detecting: &Detecting<'_>, stats: &mut Trajectory, cusum: &mut Trajectory, counted: &Counted) {
        for step in &counted.steps {
            // A score that is no number was an alarm already.
            let _ = stats.push(step.score, detecting.params());
            if counted.sums && detecting.alarms(cusum, step.score) {
                *cusum = Trajectory::default();
                self.alarms = self.alarms.saturating_add(1);
            }
        }
    }

    /// The statistics and the running sum at the time of `context`, which becomes the run's.
    pub(crate) fn at(&mut self, context: &Context<'_>) -> (Trajectory, Trajectory) {
        let (now_ms, left) = passed(self.touched_ms, context.now_ms, context.half_life_ms);
        self.touched_ms = now_ms;
        let mut stats = Trajectory::stored([self.events, self.over], [self.peak, self.sum, self.persistence]);
        let mut cusum = Trajectory::stored([0, 0], [0.0, self.cusum, self.cusum]);
        self.heads.iter_mut().for_each(|head| head.sum *= left as f32);
        stats.fade(left);
        cusum.fade(left);
        (stats, cusum)
    }

    pub(crate) fn store(&mut self, stats: Trajectory, cusum: Trajectory) {
        (self.events, self.over) = (stats.events(), stats.over());
        (self.peak, self.sum, self.persistence) = (stats.peak(), stats.cusum(), stats.persistence());
        self.cusum = cusum.cusum();
    }

    /// Notes that an assistant's text left.
    pub(crate) fn note_outgoing(&mut self, text: Fingerprint) {
        self.outgoing.retain(|known| *known != text);
        self.outgoing.push(text);
        fits(&mut self.outgoing, RUN_OUTGOING);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_make_it_hotter_once() {
        let heats = [0, 1, 2, u16::MAX].map(|alarms| Run { cusum: 0.5, alarms, ..Run::default() }.heat());
        assert_eq!(heats, [0.5, 1.5, 1.5, 1.5]);
    }

    /// As long as a run may become: every list full, every number as long as it is written.
    #[test]
    fn the_longest_record_fits() {
        let (least, most) = (f64::from_bits(1), f64::from(u32::MAX));
        let head = |at: u8| Head {
            events: u16::MAX,
            chain: [at; 8],
            frame: [255; 8],
            under: [255; 3],
            bits: FRAME_HIT | LAST,
            sum: 0.1,
            streak: 477,
        };
        let run = Run {
            catalogue: [255; 8],
            touched_ms: MAX_MS,
            events: u32::MAX,
            over: u32::MAX,
            peak: 0.999,
            sum: least,
            persistence: most,
            cusum: most,
            alarms: u16::MAX,
            restarts: u16::MAX,
            rewritten: u16::MAX,
            overflow: true,
            turns: Turns::default(),
            last: Lasts::default(),
            heads: (0..RUN_HEADS as u8).map(head).collect(),
            tail: [[255; 4]; RUN_TAIL].to_vec(),
            marks: Marks::longest(),
            outgoing: [[255; 4]; RUN_OUTGOING].to_vec(),
        };
        let bytes = run.encode();
        let heads = (0..RUN_HEADS_MIXED as u8).map(head).collect();
        let mixed = Run { turns: Turns::longest(), last: Lasts::longest(), heads, ..run.clone() };
        assert_eq!(Run::decode(&mixed.encode()), Ok(mixed.clone()));
        let lengths = [bytes.len(), mixed.encode().len()];
        assert!(lengths.iter().all(|length| *length <= MAX_RUN_BYTES) && lengths.iter().any(|length| *length > 500), "{lengths:?} bytes");
        assert_eq!(Run::decode(&bytes), Ok(run.clone()));
        let out_of_range: [fn(&mut Run); 13] = [
            |run| run.touched_ms = MAX_MS + 1,
            |run| run.heads[0].sum = f32::NAN,
            |run| run.peak = 1.1,
            |run| run.sum = -0.5,
            |run| run.cusum = f64::NAN,
            |run| run.persistence = f64::INFINITY,
            |run| run.persistence = 0.0,
            |run| run.events = 1,
            |run| run.heads.push(run.heads[0]),
            |run| run.heads[0].events = 0,
            |run| run.heads[0].bits = 4,
            |run| run.heads[0].streak = 1 << 10,
            |run| run.tail.push([0; 4]),
        ];
        for change in out_of_range {
            let mut other = Run { marks: Marks::default(), ..run.clone() };
            assert!(Run::decode(&other.encode()).is_ok());
            change(&mut other);
            assert_eq!(Run::decode(&other.encode()), Err(Unreadable));
        }
    }
}
