//! A connection to a server: several calls may follow each other on it.

use std::net::SocketAddr;
use std::time::Instant;

use anyhow::{Context as _, bail};
use hyper::Response;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::body::Body;
use super::{Answer, Call, Protocol, Streaming};

/// An open connection; closed on drop.
#[derive(Debug)]
pub struct Connection {
    address: SocketAddr,
    sender: Sender,
    driver: JoinHandle<()>,
}

#[derive(Debug)]
enum Sender {
    Http1(http1::SendRequest<Body>),
    Http2(http2::SendRequest<Body>),
}

impl Connection {
    /// Connects to `address`; needs a tokio runtime.
    ///
    /// # Errors
    /// When nothing listens there or the handshake fails.
    pub async fn open(address: SocketAddr, protocol: Protocol) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await.with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true).context("cannot set TCP_NODELAY")?;
        let io = TokioIo::new(stream);
        let (sender, driver) = match protocol {
            Protocol::Http1 => {
                let (sender, connection) = http1::handshake(io).await.context("HTTP/1.1 handshake")?;
                // How a connection ends shows in the calls on it, so the driver's own error is not needed.
                (Sender::Http1(sender), tokio::spawn(async move { drop(connection.await) }))
            }
            Protocol::Http2 => {
                let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.context("HTTP/2 handshake")?;
                (Sender::Http2(sender), tokio::spawn(async move { drop(connection.await) }))
            }
        };
        Ok(Self { address, sender, driver })
    }

    /// Sends one call and reads its whole answer.
    ///
    /// # Errors
    /// When the server breaks off or the call's timeout passes.
    pub async fn send(&mut self, call: Call) -> anyhow::Result<Answer> {
        let what = format!("{} {} at {}", call.method, call.path, self.address);
        let timeout = call.timeout;
        let exchange = async {
            let (response, started) = self.head(&call).await?;
            Answer::read(response, started).await
        };
        match tokio::time::timeout(timeout, exchange).await {
            Ok(result) => result.with_context(|| format!("no whole answer to {what}")),
            Err(_) => bail!("no whole answer to {what} within {} ms", timeout.as_millis()),
        }
    }

    /// Sends one call and reads the head of its answer. Over HTTP/2 others may follow before that ends.
    ///
    /// # Errors
    /// When the server breaks off or the call's timeout passes.
    pub async fn open_answer(&mut self, call: &Call) -> anyhow::Result<Streaming> {
        let Ok(head) = tokio::time::timeout(call.timeout, self.head(call)).await else {
            bail!("no answer to {} {} within {} ms", call.method, call.path, call.timeout.as_millis());
        };
        let (response, started) = head.with_context(|| format!("no answer to {} {}", call.method, call.path))?;
        let (head, body) = response.into_parts();
        Ok(Streaming { started, timeout: call.timeout, address: self.address, body, status: head.status.as_u16() })
    }

    async fn head(&mut self, call: &Call) -> anyhow::Result<(Response<Incoming>, Instant)> {
        let request = call.request(self.address)?;
        let started = Instant::now();
        let response = match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Sender::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
        };
        Ok((response, started))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
