//! One stream's way through the plugin, step by step, with Envoy's rules for pausing.

use super::abi::Action;
use super::exchange::{Callback, Exchange};
use super::gateway::{Gateway, StreamId, Trapped};
use super::headers::Headers;
use super::options::Capability;
use super::request::{Request, UpstreamReply};
use super::stream::{Passed, Side, Stream};

const HEADERS_PAUSED: &str = "the plugin paused in a headers callback: Envoy then stops the body too, and nothing will wake the stream";
const LOST: &str = "the stream ended with the VM that it ran in";
const TRAILERS_PAUSED: &str = "the plugin paused at the trailers, and nothing will wake the stream";

/// What a stream looks like to whoever carries its bytes: all that may be passed on since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// On its way to the upstream.
    pub request: Passed,
    /// On its way to the client; while the upstream has not answered, a reply in its place.
    pub response: Passed,
    /// Whether the response stands in the upstream's place.
    pub local: bool,
    /// Why the stream is broken, if it is.
    pub reset: Option<&'static str>,
    /// Why nothing more can come of it, if so.
    pub stuck: Option<&'static str>,
}

/// What a callback left for the caller to do.
enum After {
    /// Do as the plugin answered.
    Answered(Action),
    /// The plugin resumed this direction itself.
    Resumed,
    /// This direction is over: replied, reset or hanging.
    Over,
}

impl Gateway {
    /// Opens a stream and hands its headers to the plugin. The body follows with [`Gateway::send_chunk`]; several
    /// streams may be open at once.
    ///
    /// # Errors
    /// When the plugin traps.
    pub fn open(&mut self, request: &Request) -> Result<StreamId, Trapped> {
        let id = self.next_stream;
        self.next_stream += 1;
        self.vm.host_mut().streams.insert(id, Stream { source: request.source.clone(), ..Stream::default() });
        let root = self.vm.host().root;
        self.enter("proxy_on_context_create", &[id, root])?;
        let end = request.chunks.is_empty() && request.trailers.is_none();
        self.headers(id, Side::Request, request.headers.clone(), end)?;
        Ok(StreamId(id))
    }

    /// Hands one chunk of the request body to the plugin; `last` when neither body nor trailers follow.
    ///
    /// # Errors
    /// When the plugin traps, now or earlier.
    pub fn send_chunk(&mut self, id: StreamId, chunk: &[u8], last: bool) -> Result<(), Trapped> {
        self.body(self.known(id)?, Side::Request, chunk, last)
    }

    /// Ends the request in trailers.
    ///
    /// # Errors
    /// When the plugin traps, now or earlier.
    pub fn send_trailers(&mut self, id: StreamId, trailers: &Headers) -> Result<(), Trapped> {
        self.trailers(self.known(id)?, Side::Request, trailers)
    }

    /// Lets the upstream answer, if it has the whole request and no local reply was sent.
    ///
    /// # Errors
    /// When the plugin traps, now or earlier.
    pub fn respond(&mut self, id: StreamId, reply: &UpstreamReply) -> Result<(), Trapped> {
        let stream = self.stream(self.known(id)?);
        if !stream.request.passed.complete || stream.request.falls_short() || stream.local_reply.is_some() {
            return Ok(());
        }
        self.respond_headers(id, reply.headers.clone(), reply.chunks.is_empty() && reply.trailers.is_none())?;
        for (index, chunk) in reply.chunks.iter().enumerate() {
            let last = index + 1 == reply.chunks.len() && reply.trailers.is_none();
            self.respond_chunk(id, chunk, last)?;
        }
        reply.trailers.as_ref().map_or(Ok(()), |trailers| self.respond_trailers(id, trailers))
    }

    /// Hands the headers of the upstream's answer to the plugin; `:status` first.
    ///
    /// # Errors
    /// When the plugin traps, now or earlier.
    pub fn respond_headers(&mut self, id: StreamId, headers: Headers, last: bool) -> Result<(), Trapped> {
        self.headers(self.known(id)?, Side::Response, headers, last)
    }

    /// Hands one chunk of the upstream's answer to the plugin.
    ///
    /// # Errors
    /// When the plugin traps, now or earlier.
    pub fn respond_chunk(&mut self, id: StreamId, chunk: &[u8], last: bool) -> Result<(), Trapped> {
        self.body(self.known(id)?, Side::Response, chunk, last)
    }

    /// Ends the upstream's answer in trailers.
    ///
    /// # Errors
    /// When the plugin traps, now or earlier.
    pub fn respond_trailers(&mut self, id: StreamId, trailers: &Headers) -> Result<(), Trapped> {
        self.trailers(self.known(id)?, Side::Response, trailers)
    }

    /// Takes what may be passed on by now.
    ///
    /// # Errors
    /// When the plugin has trapped.
    pub fn look(&mut self, id: StreamId) -> Result<Look, Trapped> {
        let stream = self.stream(self.known(id)?);
        Ok(Look {
            request: stream.request.take(),
            response: stream.response.take(),
            local: stream.local_reply.is_some(),
            reset: stream.reset,
            stuck: stream.request.stuck.or(stream.response.stuck),
        })
    }

    /// Ends the stream, as the client's leaving would, and tells what happened.
    ///
    /// # Errors
    /// When the plugin traps, now or earlier.
    pub fn finish(&mut self, id: StreamId) -> Result<Exchange, Trapped> {
        let id = self.known(id)?;
        self.stream(id).logging = true;
        self.enter("proxy_on_log", &[id])?;
        self.stream(id).logging = false;
        if !self.stream(id).wishes.local_replies.is_empty() {
            return Err(
                self.die("proxy_on_log", "it ordered a local reply, which Envoy logs, and so on until the stack is full".to_owned())
            );
        }
        self.enter("proxy_on_done", &[id])?;
        self.enter("proxy_on_delete", &[id])?;
        Ok(Exchange::of(self.vm.host_mut().streams.remove(&id).unwrap_or_default()))
    }

    /// The number of a stream that is still there.
    fn known(&self, id: StreamId) -> Result<u32, Trapped> {
        if let Some(trapped) = &self.dead {
            return Err(trapped.clone());
        }
        let lost = || Trapped { callback: "an earlier callback".to_owned(), cause: LOST.to_owned() };
        self.vm.host().streams.contains_key(&id.0).then_some(id.0).ok_or_else(lost)
    }

    pub(super) fn stream(&mut self, id: u32) -> &mut Stream {
        self.vm.host_mut().streams.entry(id).or_default()
    }

    pub(super) fn headers(&mut self, id: u32, side: Side, headers: Headers, end: bool) -> Result<(), Trapped> {
        let count = headers.len() as u32;
        let half = self.stream(id).half(side);
        half.headers = Some(headers);
        half.headers_visible = true;
        let callback = match side {
            Side::Request => "proxy_on_request_headers",
            Side::Response => "proxy_on_response_headers",
        };
        let after = self.callback(id, side, callback, count, Some(end))?;
        let may_hold = self.vm.host().options.allow_on_headers_stop_iteration;
        let half = self.stream(id).half(side);
        match after {
            After::Over => {}
            After::Answered(Action::Continue) | After::Resumed => {
                half.headers_visible = false;
                half.pass(end);
            }
            After::Answered(Action::Pause) if may_hold && !end => {}
            After::Answered(Action::Pause) => half.stuck = Some(HEADERS_PAUSED),
        }
        Ok(())
    }

    pub(super) fn body(&mut self, id: u32, side: Side, chunk: &[u8], end: bool) -> Result<(), Trapped> {
        if self.stream(id).over(side) {
            return Ok(());
        }
        let half = self.stream(id).half(side);
        if half.holding {
            half.held.extend_from_slice(chunk);
            if self.over_limit(id, side)? {
                return Ok(());
            }
        } else {
            half.chunk = Some(chunk.to_vec());
        }
        let size = self.stream(id).half(side).readable().len() as u32;
        let callback = match side {
            Side::Request => "proxy_on_request_body",
            Side::Response => "proxy_on_response_body",
        };
        let after = self.callback(id, side, callback, size, Some(end))?;
        let half = self.stream(id).half(side);
        match after {
            After::Over => {}
            After::Answered(Action::Continue) | After::Resumed => half.pass(end),
            After::Answered(Action::Pause) => {
                half.held.append(&mut half.chunk.take().unwrap_or_default());
                half.holding = true;
                self.over_limit(id, side)?;
            }
        }
        Ok(())
    }

    fn trailers(&mut self, id: u32, side: Side, trailers: &Headers) -> Result<(), Trapped> {
        if self.stream(id).over(side) {
            return Ok(());
        }
        self.stream(id).half(side).trailers = Some(trailers.clone());
        if self.vm.host().require(Capability::Trailers).is_err() {
            return self.body(id, side, &[], true);
        }
        self.stream(id).half(side).trailers_visible = true;
        let callback = match side {
            Side::Request => "proxy_on_request_trailers",
            Side::Response => "proxy_on_response_trailers",
        };
        let after = self.callback(id, side, callback, trailers.len() as u32, None)?;
        let half = self.stream(id).half(side);
        match after {
            After::Over => {}
            After::Answered(Action::Continue) | After::Resumed => {
                half.trailers_visible = false;
                half.pass(true);
            }
            After::Answered(Action::Pause) => half.stuck = Some(TRAILERS_PAUSED),
        }
        Ok(())
    }

    /// Calls the plugin for a stream, notes it, and fulfils what the plugin wished for meanwhile.
    fn callback(&mut self, id: u32, side: Side, name: &'static str, size: u32, end_of_stream: Option<bool>) -> Result<After, Trapped> {
        let args = [id, size, end_of_stream.unwrap_or(false).into()];
        let args = if end_of_stream.is_some() { &args[..] } else { &args[..2] };
        let answer = self.enter(name, args)?;
        let action = match answer {
            None | Some(0) => Action::Continue,
            Some(1) => Action::Pause,
            Some(other) => {
                return Err(self.die(name, format!("it answered {other}, which is neither Continue (0) nor Pause (1)")));
            }
        };
        let keep = self.vm.host().options.keep_callbacks;
        let stream = self.stream(id);
        if answer.is_some() && keep {
            stream.callbacks.push(Callback { name, size, end_of_stream, action });
        }
        let wishes = std::mem::take(&mut stream.wishes);
        if wishes.close {
            stream.reset = Some("wasm_close_stream");
        }
        for reply in wishes.local_replies {
            self.local_reply(id, reply)?;
        }
        let stream = self.stream(id);
        if stream.over(side) {
            return Ok(After::Over);
        }
        if wishes.resume_request || wishes.resume_response {
            // Envoy forgets the request's maps on either kind of resumption.
            stream.request.headers_visible = false;
            stream.request.trailers_visible = false;
        }
        let resumed = match side {
            Side::Request => wishes.resume_request,
            Side::Response => wishes.resume_response,
        };
        Ok(if resumed { After::Resumed } else { After::Answered(action) })
    }
}
