//! What goes wrong on a request's way, and what the client is told.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;

use super::Body;
use crate::emulator::Passed;

/// Why a request ends before the upstream has answered it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The plugin, or the limit for held bodies, answers in the upstream's place.
    Reply(Box<Passed>),
    /// The gateway answers that it cannot go on.
    Failure(Failure),
    /// The plugin broke the stream, with Envoy's details.
    Reset(&'static str),
}

impl Stop {
    /// The `details` of the access log.
    pub(super) fn details(&self) -> &'static str {
        match self {
            Self::Reply(_) => "local_reply",
            Self::Failure(failure) => failure.details(),
            Self::Reset(details) => details,
        }
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// What the gateway itself has to say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    #[error("the request cannot be understood: {0}")]
    BadRequest(&'static str),
    #[error("this gateway makes no tunnels")]
    Tunnel,
    #[error("the request's body did not go on for too long")]
    ClientSilent,
    #[error("the request's body broke off")]
    ClientBroke,
    #[error("as many requests as this gateway takes are under way; try again")]
    Busy,
    #[error("the plugin trapped and is started anew; try again")]
    Trapped,
    #[error("the plugin holds the message, and nothing will wake it")]
    Stuck,
    #[error("the upstream cannot be reached")]
    Unreachable,
    #[error("the upstream broke off before it answered")]
    UpstreamBroke,
    #[error("the upstream did not answer in time")]
    UpstreamSilent,
}

impl Failure {
    fn status(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) | Self::ClientBroke => StatusCode::BAD_REQUEST,
            Self::Tunnel => StatusCode::METHOD_NOT_ALLOWED,
            Self::ClientSilent => StatusCode::REQUEST_TIMEOUT,
            Self::Busy | Self::Trapped => StatusCode::SERVICE_UNAVAILABLE,
            Self::Stuck => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unreachable | Self::UpstreamBroke => StatusCode::BAD_GATEWAY,
            Self::UpstreamSilent => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// The `details` of the access log; Envoy's words where it has some.
    pub(super) fn details(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "bad_request",
            Self::Tunnel => "connect_not_supported",
            Self::ClientSilent => "request_body_timeout",
            Self::ClientBroke => "request_body_broken",
            Self::Busy => "too_many_requests_at_once",
            Self::Trapped => "wasm_fail_stream",
            Self::Stuck => "plugin_holds_forever",
            Self::Unreachable => "upstream_unreachable",
            Self::UpstreamBroke => "upstream_broke_off",
            Self::UpstreamSilent => "upstream_response_timeout",
        }
    }

    /// The answer, in the shape that clients of model providers print.
    pub(super) fn response(&self) -> Response<Body> {
        let error = json!({"error": {"message": self.to_string(), "type": "gateway_error", "param": null, "code": self.details()}});
        let body = Full::new(Bytes::from(error.to_string())).map_err(|never| match never {}).boxed_unsync();
        let mut response = Response::new(body);
        *response.status_mut() = self.status();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}
