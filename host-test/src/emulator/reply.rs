//! Replies in the upstream's place, ordered by the plugin or by the gateway's own limits.

use super::gateway::{Gateway, Trapped};
use super::headers::Headers;
use super::stream::{LocalReply, Side};

impl Gateway {
    /// Answers in the upstream's place when more is held than the gateway allows; whether it did.
    pub(super) fn over_limit(&mut self, id: u32, side: Side) -> Result<bool, Trapped> {
        let limit = self.vm.host().options.buffer_limit_bytes;
        let stream = self.stream(id);
        if stream.half(side).held.len() <= limit {
            return Ok(false);
        }
        let (status, text, details) = match side {
            Side::Request => (413, "Payload Too Large", "request_payload_too_large"),
            Side::Response => (500, "Internal Server Error", "response_payload_too_large"),
        };
        let (details, body) = (details.to_owned(), text.as_bytes().to_vec());
        self.local_reply(id, LocalReply { status, details, headers: Headers::new(), body, by_gateway: true })?;
        Ok(true)
    }

    /// Sends a reply when the callback that ordered it has returned. Seen in Envoy 1.40: a reply after a whole reply is
    /// dropped, one ordered in a response-headers callback takes the place of what is on its way, and one ordered when
    /// headers are out breaks the stream.
    pub(super) fn local_reply(&mut self, id: u32, reply: LocalReply) -> Result<(), Trapped> {
        let stream = self.stream(id);
        stream.replies_ordered += 1;
        if stream.response.passed.complete {
            return Ok(());
        }
        if stream.response.passed.headers.is_some() {
            stream.reset = Some("the response headers were already out");
            return Ok(());
        }
        let mut headers: Headers = [(":status", reply.status.to_string())].into_iter().collect();
        for (name, value) in reply.headers.iter() {
            headers.add(name, value);
        }
        if !reply.body.is_empty() {
            headers.set("content-length", reply.body.len().to_string());
            if headers.get("content-type").is_none() {
                headers.add("content-type", "text/plain");
            }
        }
        let body = reply.body.clone();
        stream.local_reply = Some(reply);
        if stream.response.headers.is_some() {
            // Past all filters: this plugin sees neither its headers nor its body.
            stream.response.headers = Some(headers);
            stream.response.held.clear();
            stream.response.chunk = Some(body);
            stream.response.pass(true);
            return Ok(());
        }
        stream.upstream_reset = true;
        self.headers(id, Side::Response, headers, body.is_empty())?;
        if body.is_empty() { Ok(()) } else { self.body(id, Side::Response, &body, true) }
    }
}
