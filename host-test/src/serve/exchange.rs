//! The way of one request: through the plugin, to the upstream, and back through the plugin.

use std::sync::Arc;

use hyper::body::{Body as _, Incoming};
use hyper::{Method, Request, Response};
use tokio::sync::oneshot;

use super::answer::{self, Answer};
use super::failure::{Failure, Stop};
use super::server::Shared;
use super::source::{Source, unanswered};
use super::stream::Stream;
use super::{Body, BoxError, fields};
use crate::emulator::Passed;

/// Answers one request.
///
/// # Errors
/// When the plugin wants the connection broken.
pub(super) async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Body>, BoxError> {
    let stream = Stream::new(&shared, &request);
    match go(&stream, request).await {
        Ok(response) => Ok(response),
        Err(stop) => {
            stop.details().clone_into(&mut stream.record().details);
            match stop {
                Stop::Reply(reply) => Ok(answer::local(&stream, *reply)),
                Stop::Reset(details) => Err(details.into()),
                Stop::Failure(failure) => {
                    let response = failure.response();
                    stream.record().status = Some(response.status().as_u16());
                    Ok(response)
                }
            }
        }
    }
}

async fn go(stream: &Arc<Stream>, request: Request<Incoming>) -> Result<Response<Body>, Stop> {
    let (head, body) = request.into_parts();
    let ended = body.is_end_stream();
    let mut source = Source { stream: Arc::clone(stream), body, ended, unasked: fields::waits_for_100(&head.headers) };
    let begun = match fields::of_request(&head) {
        Ok(headers) => begin(&mut source, headers).await,
        Err(failure) => Err(failure.into()),
    };
    let mut passed = match begun {
        Ok(passed) => passed,
        Err(stop) => {
            source.drain().await;
            return Err(stop);
        }
    };
    let headers = passed.headers.take().unwrap_or_default();
    // The plugin may have changed both.
    let path = headers.text(":path").and_then(|path| path.parse().ok()).ok_or(Failure::BadRequest("its target is no path"))?;
    let method: Method = headers.text(":method").and_then(|method| method.parse().ok()).ok_or(Failure::BadRequest("no method"))?;
    let mut sent = fields::for_upstream(&headers, fields::reads_trailers(&head.headers));
    if passed.complete {
        fields::correct_length(&mut sent, passed.body.len());
    }
    let (stopped, stop) = oneshot::channel();
    let body = source.into_body(passed, stopped);
    let shared = stream.shared();
    let silence = async {
        match stop.await {
            Ok(stop) => stop,
            // The request was sent to its end: now it is the upstream's turn.
            Err(_) => {
                tokio::time::sleep(shared.timeout).await;
                Failure::UpstreamSilent.into()
            }
        }
    };
    let bodyless = method == Method::HEAD;
    let response = tokio::select! {
        biased;
        stop = silence => return Err(stop),
        response = shared.upstream.call(method, path, sent, body) => response?,
    };
    Answer::begin(Arc::clone(stream), response, bodyless).await
}

/// Goes on until something may be sent to the upstream beside headers; these are kept till then.
async fn begin(source: &mut Source, headers: crate::emulator::Headers) -> Result<Passed, Stop> {
    let look = source.stream.clone().enter(headers, source.ended).await?;
    let mut passed = unanswered(look)?;
    while !passed.complete && passed.body.is_empty() {
        let more = source.advance().await?;
        passed = Passed { headers: more.headers.or(passed.headers), ..more };
    }
    Ok(passed)
}
