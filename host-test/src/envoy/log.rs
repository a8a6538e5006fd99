//! The access log: one JSON object a line, found by request id.

use std::time::Instant;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::{Envoy, GLANCE, PATIENCE};

/// One line of the access log.
#[derive(Clone, Debug)]
pub struct AccessLine(Value);

impl AccessLine {
    /// A field as text; numbers are written out, null and missing fields are `None`.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }
}

impl Envoy {
    /// The access log's line of the request with this `x-request-id`; waits for it, since Envoy writes it at the end.
    ///
    /// # Errors
    /// When no such line comes in time, or the log is not JSON.
    pub async fn access_line(&self, id: &str) -> anyhow::Result<AccessLine> {
        let started = Instant::now();
        loop {
            let bytes = std::fs::read(self.access_log()).context("cannot read the access log")?;
            // The last line may be half written.
            let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
            for line in String::from_utf8_lossy(&bytes[..whole]).lines() {
                let value: Value = serde_json::from_str(line).with_context(|| format!("bad access log line {line}"))?;
                if value["request_id"] == id {
                    return Ok(AccessLine(value));
                }
            }
            if started.elapsed() > PATIENCE {
                bail!("no access log line for request {id:?} within {} s", PATIENCE.as_secs());
            }
            tokio::time::sleep(GLANCE).await;
        }
    }
}
