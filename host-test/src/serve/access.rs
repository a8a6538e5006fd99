//! The access log: one JSON object for each request, with the names that the shipped Envoy configs use.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use hyper::Request;
use hyper::body::Incoming;
use serde_json::json;

use crate::emulator::Exchange;

/// What is noted about a request on its way.
#[derive(Clone, Debug)]
pub(super) struct Record {
    started: Instant,
    unix_ms: u128,
    request_id: Option<String>,
    method: String,
    /// Without the query, which may hold secrets.
    path: String,
    pub(super) bytes_received: usize,
    pub(super) bytes_sent: usize,
    /// What the client was answered; `None` until then.
    pub(super) status: Option<u16>,
    /// Who answered, or what went wrong.
    pub(super) details: String,
}

impl Record {
    pub(super) fn new(request: &Request<Incoming>) -> Self {
        let id = request.headers().get("x-request-id");
        Self {
            started: Instant::now(),
            unix_ms: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis(),
            request_id: id.map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned()),
            method: request.method().to_string(),
            path: request.uri().path().to_owned(),
            bytes_received: 0,
            bytes_sent: 0,
            status: None,
            details: "client_closed".to_owned(),
        }
    }

    /// The line; the plugin's fields are null where it did not judge.
    pub(super) fn line(&self, exchange: Option<&Exchange>) -> String {
        let state = |name: &str| exchange.and_then(|exchange| exchange.state(name)).map(str::to_owned);
        let score = state("floodmark.score").and_then(|score| score.parse::<f64>().ok());
        let line = json!({
            "time_unix_ms": self.unix_ms as u64,
            "request_id": self.request_id,
            "method": self.method,
            "path": self.path,
            "status": self.status.unwrap_or(0),
            "details": exchange.and_then(|exchange| exchange.local_reply.as_ref()).map_or(&self.details, |reply| &reply.details),
            "bytes_received": self.bytes_received,
            "bytes_sent": self.bytes_sent,
            "duration_ms": self.started.elapsed().as_millis() as u64,
            "verdict": state("floodmark.verdict"),
            "action": state("floodmark.action"),
            "score": score,
            "rule": state("floodmark.rule"),
            "event_id": state("floodmark.event_id"),
        });
        line.to_string()
    }
}
