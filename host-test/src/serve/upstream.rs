//! The one upstream: its address, and calling it over kept connections.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::Body;
use super::failure::Failure;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// See the file's first line.
#[derive(Clone, Debug)]
pub(super) struct Upstream {
    authority: Authority,
    client: Client<HttpConnector, Body>,
}

impl Upstream {
    /// Reads its URL.
    ///
    /// # Errors
    /// When it is not `http://host:port`.
    pub(super) fn new(url: &str) -> anyhow::Result<Self> {
        let uri: Uri = url.parse().with_context(|| format!("the upstream {url:?} is no URL; write http://host:port"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => bail!("the upstream {url:?} speaks TLS, which this gateway does not; put a TLS proxy such as Envoy between"),
            _ => bail!("the upstream {url:?} does not begin with http://; write http://host:port"),
        }
        ensure!(matches!(uri.path(), "" | "/") && uri.query().is_none(), "the upstream {url:?} has a path; requests keep their own");
        let authority = uri.authority().context("the upstream has no host")?.clone();
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let client = Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector);
        Ok(Self { authority, client })
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn call(
        &self,
        method: Method,
        path: PathAndQuery,
        headers: HeaderMap,
        body: Body,
    ) -> Result<Response<Incoming>, Failure> {
        let uri = Uri::builder().scheme(Scheme::HTTP).authority(self.authority.clone()).path_and_query(path);
        let uri = uri.build().map_err(|_| Failure::BadRequest("its target is no path"))?;
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        self.client.request(request).await.map_err(|error| {
            let causes: Vec<_> = std::iter::successors(error.source(), |&cause| cause.source()).collect();
            let silent =
                causes.iter().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|it| it.kind() == io::ErrorKind::TimedOut));
            if error.is_connect() {
                let reasons: Vec<_> = causes.iter().map(ToString::to_string).collect();
                eprintln!("error: cannot reach the upstream {}: {}", self.authority, reasons.join(": "));
            }
            match (silent, error.is_connect()) {
                (true, _) => Failure::UpstreamSilent,
                (false, true) => Failure::Unreachable,
                (false, false) => Failure::UpstreamBroke,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Upstream;

    #[test]
    fn only_an_origin_over_http_is_an_upstream() {
        assert_eq!(Upstream::new("http://localhost:8000/").unwrap().authority.as_str(), "localhost:8000");
        for (url, part) in [
            ("https://api.example.com", "TLS"),
            ("localhost:8000", "does not begin with http://"),
            ("http://a.test/v1", "has a path"),
            ("", "is no URL"),
        ] {
            let error = Upstream::new(url).unwrap_err().to_string();
            assert!(error.contains(part), "{url:?}: {error}");
        }
    }
}
