//! A response's way: let pass unread, copied, kept back until it is whole, or followed frame by frame; and replaced or cut where it must not pass.

mod begin;

use std::rc::Rc;

use floodmark_core::streamed::Streamed;
use floodmark_core::wire::{Codings, Framing, Issue, IssueKind};
use floodmark_core::{Action, Hint, Verdict};

use super::following::{Following, Marks, Step};
use super::found::Found;
use super::{Exchange, Flow};
use crate::budget::Copied;
use crate::config::OnBlock;
use crate::host::{Host, LocalReply, LogLevel};
use crate::labels;
use crate::metrics::Passed;
use crate::reply;

/// The response's direction.
#[derive(Debug, Default)]
pub(super) struct Half {
    state: State,
    reading: Reading,
}

#[derive(Debug, Default)]
enum State {
    /// Let pass, or judged: nothing more to do.
    #[default]
    Idle,
    /// The headers do not say what it is, so its first bytes will.
    Unsaid,
    /// The host keeps the body back; it is read when it is whole.
    Holding { buffered_bytes: usize },
    /// The body passes and is copied on the way; it is read when it is whole.
    Copying(Copied),
    /// The stream is read as it comes.
    Following(Box<Following>),
    /// This takes the body's place as soon as there is one.
    Replacing(Vec<u8>),
    /// The client has all that it may get.
    Dropping,
    /// The response was broken off, and what the host keeps back must not get out meanwhile.
    Broken,
}

/// How a response is read.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    hint: Hint,
    codings: Codings,
    /// Set for streams.
    framing: Option<Framing>,
    /// A verdict can act: the mode enforces, and `block` does not only label.
    acts: bool,
    /// The headers bring an MCP session.
    mcp_session: bool,
}

/// How far a stream is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// More may come.
    Piece,
    /// This piece is the last.
    LastPiece,
    /// Trailers came: of the body there is only what the host keeps back.
    Trailers,
}

impl Half {
    /// A piece of the body came.
    pub(super) fn body(&mut self, exchange: &mut Exchange, host: &dyn Host, size_bytes: usize, last: bool) -> Flow {
        let max_bytes = exchange.rules.settings.max_response_bytes();
        match core::mem::take(&mut self.state) {
            State::Idle => Flow::Continue,
            State::Unsaid if size_bytes > 0 => self.told_by_start(exchange, host, size_bytes, last),
            State::Unsaid => {
                self.state = State::Unsaid;
                Flow::Continue
            }
            State::Broken => {
                self.state = State::Broken;
                Flow::Pause
            }
            State::Holding { .. } if size_bytes > max_bytes => self.unread(exchange, host, IssueKind::Oversize, Some(size_bytes)),
            State::Holding { .. } if last => self.finish_held(exchange, host, size_bytes),
            State::Holding { .. } => {
                self.state = State::Holding { buffered_bytes: size_bytes };
                Flow::Pause
            }
            State::Copying(mut copy) => {
                let Some(piece) = taken(host, 0, size_bytes) else { return self.missing(exchange, host, None) };
                if copy.bytes().len() + piece.len() > max_bytes {
                    return self.unread(exchange, host, IssueKind::Oversize, None);
                }
                if !copy.push(&piece) {
                    return give_up(exchange, host, IssueKind::MemoryBudget);
                }
                if last {
                    return self.judge(exchange, host, copy.bytes(), None);
                }
                self.state = State::Copying(copy);
                Flow::Continue
            }
            State::Following(following) => self.follow(exchange, host, following, size_bytes, last),
            State::Replacing(bytes) => self.put(exchange, host, size_bytes, &bytes),
            // What need not ever end is broken off, now that the client has had time for the error.
            State::Dropping if exchange.is_get && self.reading.framing.is_some() && !last => self.reset(exchange, host),
            State::Dropping => self.put(exchange, host, size_bytes, &[]),
        }
    }

    /// Trailers came: the body is whole.
    pub(super) fn trailers(&mut self, exchange: &mut Exchange, host: &dyn Host) -> Flow {
        match core::mem::take(&mut self.state) {
            State::Idle | State::Replacing(_) | State::Dropping => Flow::Continue,
            // Nothing came that could say it, or too little to hold anything.
            State::Unsaid => pass(exchange, host, Passed::ContentType),
            State::Broken => Flow::Pause,
            State::Holding { buffered_bytes } => self.finish_held(exchange, host, buffered_bytes),
            State::Copying(copy) => self.judge(exchange, host, copy.bytes(), None),
            State::Following(mut following) => {
                following.streamed.end(&exchange.rules.judge);
                following.taught = exchange.leave_in_stream(host, &mut following.streamed, following.taught);
                let size_bytes = following.held_bytes;
                self.advance(exchange, host, following, size_bytes, At::Trailers)
            }
        }
    }

    /// The exchange is over. A stream that broke off is judged by what came of it.
    pub(super) fn over(&mut self, exchange: &mut Exchange, host: &dyn Host) {
        match core::mem::take(&mut self.state) {
            State::Following(mut following) => {
                following.streamed.break_off(&exchange.rules.judge);
                exchange.leave_in_stream(host, &mut following.streamed, following.taught);
                self.act(exchange, host, Found::Stream(following.streamed.outcome()), false);
            }
            State::Copying(copy) if self.reading.framing.is_some() => {
                self.judge(exchange, host, copy.bytes(), None);
            }
            other => self.state = other,
        }
    }

    fn finish_held(&mut self, exchange: &mut Exchange, host: &dyn Host, size_bytes: usize) -> Flow {
        match taken(host, 0, size_bytes) {
            Some(body) => self.judge(exchange, host, &body, Some(size_bytes)),
            None => self.missing(exchange, host, Some(size_bytes)),
        }
    }

    /// `held_bytes` is what the host keeps back, where it does.
    fn judge(&mut self, exchange: &mut Exchange, host: &dyn Host, body: &[u8], held_bytes: Option<usize>) -> Flow {
        let rules = Rc::clone(&exchange.rules);
        let decoded = self.reading.codings.decode(body, rules.settings.max_response_bytes());
        if decoded.issue == Some(IssueKind::Oversize) {
            return self.unread(exchange, host, IssueKind::Oversize, held_bytes);
        }
        if decoded.bytes.is_empty() && decoded.issue.is_none() {
            return pass(exchange, host, Passed::NoBody);
        }
        let hint = Hint { issue: self.reading.hint.issue.or(decoded.issue), ..self.reading.hint };
        match self.reading.framing {
            None => {
                let text = hint.body(&decoded.bytes);
                let mut opened = rules.judge.open(&text, hint);
                let judgement = exchange.judge_response(host, &rules, &mut opened, hint);
                if self.act(exchange, host, Found::Whole(&judgement), self.reading.acts && held_bytes.is_some()) {
                    return self.replace(exchange, host, Found::Whole(&judgement), held_bytes);
                }
                exchange.leave(host, &opened);
                Flow::Continue
            }
            Some(framing) => {
                let mut streamed = Streamed::new(framing, hint);
                exchange.follow_within(host, &mut streamed);
                streamed.push(&rules.judge, &decoded.bytes);
                streamed.end(&rules.judge);
                match decoded.issue {
                    // What could be unpacked says nothing of the rest.
                    Some(issue) if streamed.outcome().verdict < Verdict::Ask => self.unread(exchange, host, issue, held_bytes),
                    _ if self.act(exchange, host, Found::Stream(streamed.outcome()), self.reading.acts && held_bytes.is_some()) => {
                        self.replace(exchange, host, Found::Stream(streamed.outcome()), held_bytes)
                    }
                    _ => {
                        exchange.leave_in_stream(host, &mut streamed, 0);
                        Flow::Continue
                    }
                }
            }
        }
    }

    /// The host did not hand over what it said it had.
    fn missing(&mut self, exchange: &mut Exchange, host: &dyn Host, held_bytes: Option<usize>) -> Flow {
        exchange.shared.metrics.host_error(host);
        self.unread(exchange, host, IssueKind::BodyMissing, held_bytes)
    }

    fn unread(&mut self, exchange: &mut Exchange, host: &dyn Host, issue: IssueKind, held_bytes: Option<usize>) -> Flow {
        let rules = Rc::clone(&exchange.rules);
        let judgement = rules.judge.unread(Issue { kind: issue, at: 0 }, self.reading.hint);
        self.act_on_whole(exchange, host, Found::Whole(&judgement), held_bytes)
    }

    /// The same while the headers are here: what takes the body's place need not be packed as they say.
    fn unread_by_headers(&mut self, exchange: &mut Exchange, host: &dyn Host, issue: IssueKind, hint: Hint) -> Flow {
        if !hint.ai_path {
            return give_up(exchange, host, issue);
        }
        let rules = Rc::clone(&exchange.rules);
        let judgement = rules.judge.unread(Issue { kind: issue, at: 0 }, hint);
        if self.act(exchange, host, Found::Whole(&judgement), self.reading.acts) {
            exchange.checked(host, host.set_response_header("content-encoding", None));
            self.reading.codings = Codings::default();
            self.state = State::Replacing(self.refusal(exchange, host, Found::Whole(&judgement)));
        }
        Flow::Continue
    }

    fn act_on_whole(&mut self, exchange: &mut Exchange, host: &dyn Host, found: Found<'_>, held_bytes: Option<usize>) -> Flow {
        if !self.act(exchange, host, found, self.reading.acts && held_bytes.is_some()) {
            return Flow::Continue;
        }
        self.replace(exchange, host, found, held_bytes)
    }

    /// Puts the refusal in the body's place.
    fn replace(&mut self, exchange: &mut Exchange, host: &dyn Host, found: Found<'_>, held_bytes: Option<usize>) -> Flow {
        let refusal = self.refusal(exchange, host, found);
        self.put(exchange, host, held_bytes.unwrap_or_default(), &refusal)
    }

    /// The next piece of a stream: `size_bytes` are with the host, those of earlier pieces that it keeps back among them.
    fn follow(&mut self, exchange: &mut Exchange, host: &dyn Host, mut following: Box<Following>, size_bytes: usize, last: bool) -> Flow {
        let rules = Rc::clone(&exchange.rules);
        let new_bytes = size_bytes.saturating_sub(following.held_bytes);
        let Some(piece) = taken(host, following.held_bytes, new_bytes) else {
            exchange.shared.metrics.host_error(host);
            return self.lost(exchange, host, following, IssueKind::BodyMissing, size_bytes);
        };
        following.streamed.push(&rules.judge, &piece);
        following.window.came(new_bytes);
        if last {
            following.streamed.end(&rules.judge);
        }
        following.taught = exchange.leave_in_stream(host, &mut following.streamed, following.taught);
        let fits = following.share.set(following.streamed.held_bytes() + following.carried.len());
        if !fits && following.streamed.blocked_at().is_none() {
            return self.lost(exchange, host, following, IssueKind::MemoryBudget, size_bytes);
        }
        self.advance(exchange, host, following, size_bytes, if last { At::LastPiece } else { At::Piece })
    }

    /// Lets pass, keeps back or ends a stream, as far as it was judged.
    fn advance(&mut self, exchange: &mut Exchange, host: &dyn Host, mut following: Box<Following>, size_bytes: usize, at: At) -> Flow {
        let marks = Marks::of(&following.streamed);
        if marks.blocked.is_some() && !self.reading.acts {
            // The client gets it all, and what follows would not have passed: nothing more need be known.
            self.act(exchange, host, Found::Stream(following.streamed.outcome()), false);
            return Flow::Continue;
        }
        let most_bytes = exchange.rules.settings.max_response_bytes();
        let mut step = following.window.step(marks, at != At::Piece);
        if step == Step::Keep && !following.window.holds() && following.window.kept_bytes() > most_bytes {
            following.window.let_go();
            step = Step::Pass;
        }
        match step {
            Step::Cut(pass) => {
                let found = Found::Stream(following.streamed.outcome());
                if !self.act(exchange, host, found, at != At::Trailers || size_bytes > 0) {
                    return Flow::Continue;
                }
                let end = self.refusal(exchange, host, found);
                self.cut(exchange, host, &following, size_bytes, pass, &end)
            }
            Step::Pass if at != At::Piece => {
                self.act(exchange, host, Found::Stream(following.streamed.outcome()), false);
                uncarry(exchange, host, &mut following);
                Flow::Continue
            }
            Step::Pass => {
                uncarry(exchange, host, &mut following);
                following.held_bytes = 0;
                self.state = State::Following(following);
                Flow::Continue
            }
            Step::Keep if following.window.kept_bytes() > most_bytes => {
                self.lost(exchange, host, following, IssueKind::Oversize, size_bytes)
            }
            Step::Keep if self.reading.acts => {
                following.held_bytes = size_bytes + uncarry(exchange, host, &mut following);
                self.state = State::Following(following);
                Flow::Pause
            }
            Step::Part(part) if self.reading.acts => self.part(exchange, host, following, size_bytes, part),
            Step::Keep | Step::Part(_) => {
                self.state = State::Following(following);
                Flow::Continue
            }
        }
    }

    /// Lets the first `part` bytes pass and carries the rest.
    fn part(&mut self, exchange: &mut Exchange, host: &dyn Host, mut following: Box<Following>, size_bytes: usize, part: usize) -> Flow {
        let Some(mut bytes) = kept(host, &following, size_bytes) else {
            exchange.shared.metrics.host_error(host);
            return self.lost(exchange, host, following, IssueKind::BodyMissing, size_bytes);
        };
        let carried = bytes.split_off(part.min(bytes.len()));
        if !following.share.set(following.streamed.held_bytes() + carried.len()) {
            return self.lost(exchange, host, following, IssueKind::MemoryBudget, size_bytes);
        }
        (following.carried, following.held_bytes) = (carried, 0);
        let replaced = host.replace_response_body(size_bytes, &bytes);
        if replaced.is_err() {
            return self.break_off(exchange, host);
        }
        self.state = State::Following(following);
        Flow::Continue
    }

    /// The rest of a stream is not judged, because of `issue`. Where it would be kept back, that decides as an unreadable body does.
    fn lost(
        &mut self,
        exchange: &mut Exchange,
        host: &dyn Host,
        mut following: Box<Following>,
        issue: IssueKind,
        size_bytes: usize,
    ) -> Flow {
        let rules = Rc::clone(&exchange.rules);
        let no_memory_needed = issue == IssueKind::MemoryBudget && !self.reading.acts;
        if following.window.holds() && !no_memory_needed {
            let judgement = rules.judge.unread(Issue { kind: issue, at: 0 }, self.reading.hint);
            if self.act(exchange, host, Found::Whole(&judgement), self.reading.acts) {
                let mut end = self.refusal(exchange, host, Found::Whole(&judgement));
                if self.reading.framing == Some(Framing::Sse) {
                    // A part of a frame may have passed.
                    end.splice(0..0, *b"\n\n");
                }
                return self.cut(exchange, host, &following, size_bytes, 0, &end);
            }
        } else {
            give_up(exchange, host, issue);
        }
        uncarry(exchange, host, &mut following);
        Flow::Continue
    }

    /// Lets the first `pass` bytes of what is kept back pass, then `end`, then nothing any more.
    fn cut(&mut self, exchange: &mut Exchange, host: &dyn Host, following: &Following, size_bytes: usize, pass: usize, end: &[u8]) -> Flow {
        let mut bytes = if pass > 0 { kept(host, following, size_bytes).unwrap_or_default() } else { Vec::new() };
        bytes.truncate(pass);
        bytes.extend_from_slice(end);
        self.put(exchange, host, size_bytes, &bytes)
    }

    /// Puts `bytes` in the place of all that the host has, and drops what comes later.
    fn put(&mut self, exchange: &mut Exchange, host: &dyn Host, size_bytes: usize, bytes: &[u8]) -> Flow {
        self.state = State::Dropping;
        match host.replace_response_body(size_bytes, bytes) {
            Ok(()) => Flow::Continue,
            Err(_) => self.break_off(exchange, host),
        }
    }

    /// The host did not take what was to go in the body's place.
    fn break_off(&mut self, exchange: &mut Exchange, host: &dyn Host) -> Flow {
        exchange.shared.metrics.host_error(host);
        self.reset(exchange, host)
    }

    /// Breaks the response off: a reply behind headers that are out does it.
    fn reset(&mut self, exchange: &mut Exchange, host: &dyn Host) -> Flow {
        self.state = State::Broken;
        exchange.replied = true;
        let details = format!("{}{{{}}}", reply::CODE, IssueKind::BodyMissing.rule());
        let reply = LocalReply { status: exchange.rules.settings.reply.status, headers: Vec::new(), body: Vec::new(), details };
        exchange.checked(host, host.reply(&reply));
        Flow::Pause
    }

    /// What the client gets instead, packed as the headers say.
    fn refusal(&self, exchange: &Exchange, host: &dyn Host, found: Found<'_>) -> Vec<u8> {
        let denial = found.denial(exchange.told(host));
        let bytes = match self.reading.framing {
            None => reply::response_body(&denial),
            Some(framing) => reply::stream_end(&denial, framing),
        };
        self.reading.codings.encode(bytes)
    }

    /// Makes a judgement known. Whether the response is to be replaced or cut, where it still `can` be.
    fn act(&self, exchange: &Exchange, host: &dyn Host, found: Found<'_>, can: bool) -> bool {
        let counters = &exchange.shared.metrics.response;
        let settings = &exchange.rules.settings;
        let planned = match found.verdict() {
            // Only requests are redacted.
            Verdict::Ask | Verdict::Block if settings.action != OnBlock::Label => Action::Reject,
            Verdict::Ask | Verdict::Block | Verdict::Label => Action::Label,
            Verdict::Flag | Verdict::Allow => Action::Continue,
        };
        let [_, _, exempt_hits, rules_met] = found.counts();
        counters.judged(host, exchange.mode, found.verdict(), found.issues(), exempt_hits, rules_met);
        let late = planned == Action::Reject && exchange.is_enforced() && !can;
        if late {
            counters.failed(host);
        } else {
            counters.acted(host, exchange.mode, planned);
        }
        let action = if exchange.is_enforced() && !late { planned } else { Action::Continue };
        for (name, value) in labels::response_state(found.verdict(), found.rule()) {
            exchange.checked(host, host.set_filter_state(name, value));
        }
        if found.verdict() != Verdict::Allow || settings.log_allow {
            host.log(LogLevel::of(found.verdict()), &found.log_line(exchange, action, self.reading.mcp_session));
        }
        action == Action::Reject
    }
}

fn pass(exchange: &Exchange, host: &dyn Host, why: Passed) -> Flow {
    exchange.shared.metrics.response.passed(host, why);
    Flow::Continue
}

/// The rest passes unread, and is only counted.
fn give_up(exchange: &Exchange, host: &dyn Host, issue: IssueKind) -> Flow {
    exchange.shared.metrics.response.issue(host, issue);
    pass(exchange, host, Passed::Unread)
}

/// Everything that came and has not passed; `None` where the host does not hand it over.
fn kept(host: &dyn Host, following: &Following, size_bytes: usize) -> Option<Vec<u8>> {
    Some([following.carried.as_slice(), &taken(host, 0, size_bytes)?].concat())
}

/// Bytes of the body; `None` when there are not as many. Of none the host, which may have no buffer then, is not asked.
fn taken(host: &dyn Host, start: usize, length: usize) -> Option<Vec<u8>> {
    if length == 0 {
        return Some(Vec::new());
    }
    host.response_body(start, length).ok().filter(|bytes| bytes.len() == length)
}

/// Puts what is carried before what the host has; gives its length.
fn uncarry(exchange: &Exchange, host: &dyn Host, following: &mut Following) -> usize {
    let carried = core::mem::take(&mut following.carried);
    if !carried.is_empty() {
        exchange.checked(host, host.replace_response_body(0, &carried));
    }
    carried.len()
}
