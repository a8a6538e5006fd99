//! How much of a stream may pass: what is kept back, where it is cut, and what of it waits in our memory.

use floodmark_core::limits::MAX_CUT_BYTES;
use floodmark_core::streamed::Streamed;
use floodmark_core::wire::Framing;

use crate::budget::Share;
use crate::config::Hold;

/// A stream that is judged as it comes.
#[derive(Debug)]
pub(super) struct Following {
    pub(super) streamed: Streamed,
    pub(super) window: Window,
    /// Bytes that the host keeps back since the last that passed.
    pub(super) held_bytes: usize,
    /// The start of a frame that came behind the last one that passed; it goes before what the host has.
    pub(super) carried: Vec<u8>,
    /// Memory that `streamed` and `carried` take.
    pub(super) share: Share,
    /// Bits of the kinds of identifiers that came and were learned.
    pub(super) taught: u8,
}

/// What a stream's judge says of the bytes that came, as offsets from the stream's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    /// The end of the last whole frame.
    pub(super) whole: u64,
    /// The end of the last frame that no open tool call needs.
    pub(super) settled: u64,
    /// The start of the first frame that must not pass.
    pub(super) blocked: Option<u64>,
}

impl Marks {
    pub(super) fn of(streamed: &Streamed) -> Self {
        Marks { whole: streamed.whole_bytes(), settled: streamed.settled_bytes(), blocked: streamed.blocked_at() }
    }
}

/// What is to be done with the bytes that came and have not passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// All of them pass.
    Pass,
    /// None passes yet.
    Keep,
    /// So many pass; the rest is the start of a frame, which is carried.
    Part(usize),
    /// So many pass, and the stream ends.
    Cut(usize),
}

/// Where in a stream the client is, and how far it may be let.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    framing: Framing,
    hold: Hold,
    came: u64,
    passed: u64,
}

impl Window {
    pub(super) fn new(framing: Framing, hold: Hold) -> Self {
        Window { framing, hold, came: 0, passed: 0 }
    }

    pub(super) fn came(&mut self, bytes: usize) {
        self.came += bytes as u64;
    }

    /// Bytes that came and have not passed.
    pub(super) fn kept_bytes(&self) -> usize {
        usize::try_from(self.came - self.passed).unwrap_or(usize::MAX)
    }

    pub(super) fn holds(&self) -> bool {
        self.hold != Hold::None
    }

    /// All that came passes: it is too much to wait for the rest of a frame.
    pub(super) fn let_go(&mut self) {
        self.passed = self.came;
    }

    /// What to do now; `last` when nothing more comes.
    pub(super) fn step(&mut self, marks: Marks, last: bool) -> Step {
        let free = match self.hold {
            // Nobody can read a part of a frame, and behind one nobody could read our error.
            Hold::None => marks.whole.clamp(self.passed, self.came),
            Hold::Calls => marks.settled.clamp(self.passed, self.came),
            Hold::All => self.passed,
        };
        if let Some(blocked) = marks.blocked {
            let end = blocked.min(free).max(self.passed);
            return Step::Cut(usize::try_from(end - self.passed).unwrap_or(usize::MAX));
        }
        if last || free == self.came {
            self.passed = self.came;
            return Step::Pass;
        }
        // A line without its end is whole if nothing follows, so it is never carried: what is carried when trailers come is lost.
        let may_carry = self.framing != Framing::JsonLines && free > self.passed;
        // Where only cut frames are kept back, no whole one waits for the next. Elsewhere few do, and the host's buffer is cheaper than ours.
        let worth_it = !self.holds() || marks.settled == marks.whole && self.kept_bytes() > MAX_CUT_BYTES;
        if may_carry && worth_it {
            let part = usize::try_from(free - self.passed).unwrap_or(usize::MAX);
            self.passed = free;
            return Step::Part(part);
        }
        Step::Keep
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(whole: u64, settled: u64, blocked: Option<u64>) -> Marks {
        Marks { whole, settled, blocked }
    }

    fn window(hold: Hold, passed: u64, came: u64) -> Window {
        Window { framing: Framing::Sse, hold, came, passed }
    }

    #[test]
    fn whole_frames_pass_at_once_where_nothing_is_held_and_a_cut_one_is_carried() {
        let mut open = window(Hold::None, 10, 50);
        assert_eq!((open.step(marks(40, 20, None), false), open.kept_bytes()), (Step::Part(30), 10));
        open.came(5);
        assert_eq!((open.step(marks(40, 20, None), false), open.kept_bytes()), (Step::Keep, 15), "there is only a part of a frame");
        assert_eq!((open.step(marks(55, 20, None), false), open.kept_bytes()), (Step::Pass, 0));
        assert_eq!(window(Hold::None, 10, 50).step(marks(40, 40, None), true), Step::Pass, "nothing follows");
        assert_eq!(window(Hold::None, 10, 50).step(marks(40, 40, Some(30)), false), Step::Cut(20));
        assert_eq!(window(Hold::None, 10, 50).step(marks(40, 40, Some(10)), false), Step::Cut(0));
        // A call of which frames have passed.
        assert_eq!(window(Hold::None, 10, 50).step(marks(40, 40, Some(5)), true), Step::Cut(0));
        let lines = Window { framing: Framing::JsonLines, ..window(Hold::None, 10, 50) };
        assert_eq!({ lines }.step(marks(40, 40, None), false), Step::Keep);
    }

    #[test]
    fn an_open_call_is_kept_until_it_is_settled_and_goes_with_the_cut() {
        assert_eq!(window(Hold::Calls, 10, 9000).step(marks(8990, 500, None), false), Step::Keep);
        assert_eq!(window(Hold::Calls, 10, 9000).step(marks(9000, 9000, None), false), Step::Pass);
        assert_eq!(window(Hold::Calls, 10, 9000).step(marks(9000, 500, Some(8000)), false), Step::Cut(490));
        assert_eq!(window(Hold::Calls, 10, 9000).step(marks(9000, 500, Some(300)), false), Step::Cut(290));
        assert_eq!(window(Hold::Calls, 10, 9000).step(marks(8990, 500, None), true), Step::Pass);
    }

    #[test]
    fn a_cut_frame_is_carried_only_where_much_would_wait_for_it() {
        let mut much = window(Hold::Calls, 10, 10 + MAX_CUT_BYTES as u64 + 1);
        assert_eq!((much.step(marks(4000, 4000, None), false), much.kept_bytes()), (Step::Part(3990), 107));
        assert_eq!(window(Hold::Calls, 10, 10 + MAX_CUT_BYTES as u64).step(marks(4000, 4000, None), false), Step::Keep);
        // One long frame, of which nothing is whole.
        assert_eq!(window(Hold::Calls, 10, 9000).step(marks(10, 10, None), false), Step::Keep);
        let lines = Window { framing: Framing::JsonLines, ..window(Hold::Calls, 10, 9000) };
        assert_eq!({ lines }.step(marks(4000, 4000, None), false), Step::Keep);
    }

    #[test]
    fn a_stream_held_whole_passes_at_its_end_or_not_at_all() {
        assert_eq!(window(Hold::All, 0, 9000).step(marks(9000, 9000, None), false), Step::Keep);
        assert_eq!(window(Hold::All, 0, 9000).step(marks(9000, 9000, None), true), Step::Pass);
        assert_eq!(window(Hold::All, 0, 9000).step(marks(9000, 9000, Some(500)), true), Step::Cut(0));
    }
}
