//! The upstream's connections: accept, record, answer, echo.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::canned::{Body, Canned, Shelf};
use super::journal::{Ending, Entry, Journal, Received};
use super::{CANNED_HEADER, ID_HEADER, REPLY_HEADER, reply};

/// Accepts until aborted; its connections end with it.
pub(super) async fn accept(listener: TcpListener, journal: Journal, shelf: Shelf) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                // Small answers would otherwise wait for the peer's delayed ACK.
                let _ = stream.set_nodelay(true);
                let (journal, shelf) = (journal.clone(), shelf.clone());
                connections.spawn(async move {
                    let service = service_fn(move |request| handle(request, journal.clone(), shelf.clone()));
                    // An error here is a peer that went away; the journal already shows how its body ended.
                    let _ = auto::Builder::new(TokioExecutor::new())
                        .serve_connection_with_upgrades(TokioIo::new(stream), service)
                        .await;
                });
            }
        }
    }
}

async fn handle(request: Request<Incoming>, journal: Journal, shelf: Shelf) -> Result<Response<Body>, Infallible> {
    let entry = id(&request).map(|id| journal.begin(&id, received(&request)));
    let response = if let Some(key) = request.headers().get(SEC_WEBSOCKET_KEY).cloned() {
        if let Some(entry) = entry {
            entry.finish();
        }
        websocket(request, &key)
    } else {
        let canned = request.headers().get(CANNED_HEADER).and_then(|name| shelf.get(name.to_str().ok()?));
        http(request, entry, canned).await
    };
    Ok(response)
}

async fn http(request: Request<Incoming>, entry: Option<Entry>, canned: Option<Canned>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let added = added_header(request.headers());
    if let Some(canned) = canned.clone().filter(|canned| canned.early) {
        return canned.response();
    }
    let Some(body) = read(request.into_body(), entry.as_ref()).await else {
        return Response::new(whole(Bytes::new())); // The peer is gone; nobody reads this.
    };
    if let Some(entry) = entry {
        entry.finish();
    }
    if let Some(canned) = canned {
        return canned.response();
    }
    let mut response = Response::new(whole(reply::answer(&path, &body).to_string().into()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some((name, value)) = added {
        response.headers_mut().append(name, value);
    }
    response
}

fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).boxed_unsync()
}

async fn read(mut body: Incoming, entry: Option<&Entry>) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        match frame.ok()?.into_data() {
            Ok(data) => {
                if let Some(entry) = entry {
                    entry.data(&data);
                }
                all.extend_from_slice(&data);
            }
            Err(frame) => {
                if let (Some(entry), Ok(trailers)) = (entry, frame.into_trailers()) {
                    entry.trailers(pairs(&trailers));
                }
            }
        }
    }
    Some(all)
}

fn websocket(request: Request<Incoming>, key: &HeaderValue) -> Response<Body> {
    let accept = derive_accept_key(key.as_bytes());
    tokio::spawn(async move {
        let Ok(upgraded) = hyper::upgrade::on(request).await else {
            return;
        };
        let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
        while let Some(Ok(message)) = socket.next().await {
            let echo = message.is_text() || message.is_binary();
            if echo && socket.send(message).await.is_err() {
                return;
            }
        }
    });
    let mut response = Response::new(whole(Bytes::new()));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
    response.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(value) = HeaderValue::from_str(&accept) {
        response.headers_mut().insert(SEC_WEBSOCKET_ACCEPT, value);
    }
    response
}

fn id(request: &Request<Incoming>) -> Option<String> {
    request.headers().get(ID_HEADER)?.to_str().ok().map(str::to_owned)
}

fn received(request: &Request<Incoming>) -> Received {
    Received {
        method: request.method().to_string(),
        path: request.uri().path_and_query().map_or_else(String::new, ToString::to_string),
        version: format!("{:?}", request.version()),
        headers: pairs(request.headers()),
        body: Vec::new(),
        trailers: Vec::new(),
        ending: Ending::Open,
    }
}

fn pairs(headers: &HeaderMap) -> Vec<(String, Vec<u8>)> {
    headers.iter().map(|(n, v)| (n.as_str().to_owned(), v.as_bytes().to_vec())).collect()
}

fn added_header(headers: &HeaderMap) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = headers.get(REPLY_HEADER)?.to_str().ok()?.split_once('=')?;
    Some((name.parse().ok()?, value.parse().ok()?))
}
