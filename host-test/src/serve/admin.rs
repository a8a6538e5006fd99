//! The admin page: `/metrics` in Prometheus' text format, `/ready`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::server::{ACCEPT_PAUSE, Shared};
use crate::emulator::Metric;

const PROMETHEUS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4");

/// Serves until aborted.
pub(super) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                };
                let shared = Arc::clone(&shared);
                connections.spawn(async move {
                    let service = service_fn(move |request| page(request, Arc::clone(&shared)));
                    // An error here is a reader that went away.
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        }
    }
}

async fn page(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, text) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => (StatusCode::OK, metrics(&shared).await),
        (&Method::GET, "/ready") => (StatusCode::OK, "ready\n".to_owned()),
        _ => (StatusCode::NOT_FOUND, "GET /metrics or /ready\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, PROMETHEUS);
    Ok(response)
}

async fn metrics(shared: &Shared) -> String {
    let (mut memory_bytes, mut streams, mut plugin) = (Vec::new(), Vec::new(), BTreeMap::new());
    for vm in shared.vms.iter() {
        // Metrics are common to all VMs; whichever is asked last has the newest.
        let asked = vm.run(|gateway| (gateway.memory_bytes(), gateway.open_streams(), gateway.metrics()));
        if let Some((bytes, open, metrics)) = asked.await {
            memory_bytes.push(bytes);
            streams.push(open);
            plugin = metrics;
        }
    }
    let mut text = of_plugin(&plugin);
    let mut family = |name: &str, kind: &str, values: &[(String, u64)]| {
        let _ = writeln!(text, "# TYPE {name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    };
    let ended: Vec<_> = shared.ended().into_iter().map(|(status, count)| (format!("{{status=\"{status}\"}}"), count)).collect();
    family("gateway_requests", "counter", &ended);
    family("gateway_requests_active", "gauge", &[(String::new(), shared.active() as u64)]);
    family("gateway_plugin_traps", "counter", &[(String::new(), shared.vms.traps())]);
    for (name, values) in [("gateway_plugin_memory_bytes", memory_bytes), ("gateway_plugin_streams", streams)] {
        let values = values.into_iter().enumerate().map(|(at, value)| (format!("{{worker=\"{at}\"}}"), value as u64));
        family(name, "gauge", &values.collect::<Vec<_>>());
    }
    text
}

/// The plugin's own metrics, with the labels that stand in their names taken out, as the shipped Envoy configs do it.
fn of_plugin(metrics: &BTreeMap<String, Metric>) -> String {
    let mut families: BTreeMap<(String, &str), Vec<(String, u64)>> = BTreeMap::new();
    for (name, metric) in metrics {
        let (name, labels) = labels(name);
        match metric {
            Metric::Counter(value) => families.entry((name, "counter")).or_default().push((labels, *value)),
            Metric::Gauge(value) => families.entry((name, "gauge")).or_default().push((labels, *value)),
            Metric::Histogram(values) => {
                families.entry((format!("{name}_count"), "counter")).or_default().push((labels.clone(), values.len() as u64));
                families.entry((format!("{name}_sum"), "counter")).or_default().push((labels, values.iter().sum()));
            }
        }
    }
    let mut text = String::new();
    for ((name, kind), values) in families {
        let _ = writeln!(text, "# TYPE {name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    }
    text
}

/// Takes `name_key=value_key=value` apart. A key holds no underscore; a value may, if it is the last.
fn labels(name: &str) -> (String, String) {
    let mut parts = name.split('=');
    let key_of =
        |part: &str| part.rsplit_once('_').map_or((String::new(), part.to_owned()), |(rest, key)| (rest.to_owned(), key.to_owned()));
    let (first, mut rest) = (parts.next().unwrap_or_default(), parts.peekable());
    if rest.peek().is_none() {
        return (first.to_owned(), String::new());
    }
    let (base, mut key) = key_of(first);
    let mut labels = Vec::new();
    while let Some(part) = rest.next() {
        let (value, next) = if rest.peek().is_some() { key_of(part) } else { (part.to_owned(), String::new()) };
        labels.push(format!("{key}=\"{value}\""));
        key = next;
    }
    (base, format!("{{{}}}", labels.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_come_out_of_names() {
        for (name, base, text) in [
            ("floodmark_rejected", "floodmark_rejected", ""),
            ("floodmark_judged_verdict=block_mode=enforce", "floodmark_judged", r#"{verdict="block",mode="enforce"}"#),
            ("floodmark_passed_why=not_ai", "floodmark_passed", r#"{why="not_ai"}"#),
        ] {
            assert_eq!(labels(name), (base.to_owned(), text.to_owned()));
        }
    }

    #[test]
    fn metrics_of_one_name_stand_under_one_type() {
        let metrics =
            [("a_k=x", Metric::Counter(1)), ("a_k=y", Metric::Counter(2)), ("b", Metric::Gauge(3)), ("c", Metric::Histogram(vec![4, 5]))];
        let text = of_plugin(&metrics.map(|(name, metric)| (name.to_owned(), metric)).into());
        let lines = [
            "# TYPE a counter",
            "a{k=\"x\"} 1",
            "a{k=\"y\"} 2",
            "# TYPE b gauge",
            "b 3",
            "# TYPE c_count counter",
            "c_count 2",
            "# TYPE c_sum counter",
            "c_sum 9",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    }
}
