//! Header fields between HTTP/1.1 and the plugin: pseudo-header fields made and taken apart, fields of one connection left behind.

use hyper::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, HeaderValue, TE, VIA};
use hyper::http::{request, response};
use hyper::{HeaderMap, Method};

use super::failure::Failure;
use crate::emulator::Headers;

/// Fields that concern one connection only, beside those that `connection` names.
const ONE_HOP: [&str; 7] = ["connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade", "proxy-authenticate"];
const VIA_US: &str = "1.1 floodmark";

/// A request's fields as the plugin sees them.
///
/// # Errors
/// When it is a CONNECT or names no host.
pub(super) fn of_request(head: &request::Parts) -> Result<Headers, Failure> {
    if head.method == Method::CONNECT {
        return Err(Failure::Tunnel);
    }
    let named = head.uri.authority().map(|authority| authority.as_str().as_bytes());
    let host = named.or_else(|| head.headers.get(HOST).map(HeaderValue::as_bytes)).ok_or(Failure::BadRequest("no host"))?;
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut fields: Headers = [(":method", head.method.as_str()), (":path", path)].into_iter().collect();
    fields.add(":authority", host);
    fields.add(":scheme", "http");
    add(&mut fields, &head.headers, |name| name == HOST || name == EXPECT);
    Ok(fields)
}

/// A response's fields as the plugin sees them.
pub(super) fn of_response(head: &response::Parts) -> Headers {
    let mut fields: Headers = [(":status", head.status.as_str())].into_iter().collect();
    add(&mut fields, &head.headers, |_| false);
    fields
}

/// Trailers as the plugin sees them.
pub(super) fn of_trailers(trailers: &HeaderMap) -> Headers {
    let mut fields = Headers::new();
    add(&mut fields, trailers, |_| false);
    fields
}

/// Whether the client reads trailers, which is said for one hop and so has to be said again.
pub(super) fn reads_trailers(headers: &HeaderMap) -> bool {
    headers.get_all(TE).iter().any(|value| tokens(value).any(|token| token == "trailers"))
}

/// Whether the client waits for a 100 before it sends its body.
pub(super) fn waits_for_100(headers: &HeaderMap) -> bool {
    headers.get(EXPECT).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// The plugin's fields as they are sent on, without pseudo-header fields.
pub(super) fn sent_on(fields: &Headers) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in fields.iter().filter(|(name, _)| !name.starts_with(':')) {
        // Whatever a plugin writes that is no field is left out, as Envoy does.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_bytes(value)) {
            map.append(name, value);
        }
    }
    map
}

/// A request's fields for the upstream.
pub(super) fn for_upstream(fields: &Headers, reads_trailers: bool) -> HeaderMap {
    let mut map = sent_on(fields);
    map.append(VIA, HeaderValue::from_static(VIA_US));
    if reads_trailers {
        map.insert(TE, HeaderValue::from_static("trailers"));
        map.insert(CONNECTION, HeaderValue::from_static("te"));
    }
    map
}

/// Mends a length that a plugin left as it was when it changed a body which is there as a whole.
pub(super) fn correct_length(map: &mut HeaderMap, bytes: usize) {
    if let Some(length) = map.get_mut(CONTENT_LENGTH) {
        *length = HeaderValue::from(bytes);
    }
}

fn add(fields: &mut Headers, headers: &HeaderMap, left_out: impl Fn(&HeaderName) -> bool) {
    let named: Vec<String> = headers.get_all(CONNECTION).iter().flat_map(tokens).collect();
    for (name, value) in headers {
        if !ONE_HOP.contains(&name.as_str()) && !named.iter().any(|one| one == name.as_str()) && !left_out(name) {
            fields.add(name.as_str(), value.as_bytes());
        }
    }
}

/// The comma-separated words of a field, in lower case.
fn tokens(value: &HeaderValue) -> impl Iterator<Item = String> {
    let words = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
    words.split(',').map(|word| word.trim().to_owned()).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn parts(request: request::Builder) -> request::Parts {
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn fields_of_one_connection_stay_behind() {
        let request = Request::builder().method("POST").uri("/a?b=c").header("host", "example.com");
        let request = request.header("connection", "keep-alive, X-Mine").header("x-mine", "1").header("te", "gzip, trailers");
        let request = request.header("transfer-encoding", "chunked").header("upgrade", "h2c").header("expect", "100-continue");
        let head = parts(request.header("x-other", "kept").header("trailer", "x-sum").header("proxy-connection", "keep-alive"));
        let fields = of_request(&head).unwrap();
        let seen: Vec<_> = fields.iter().map(|(name, value)| (name, std::str::from_utf8(value).unwrap())).collect();
        let pseudo = [(":method", "POST"), (":path", "/a?b=c"), (":authority", "example.com"), (":scheme", "http")];
        assert_eq!(seen, [&pseudo[..], &[("x-other", "kept"), ("trailer", "x-sum")]].concat());
        assert!(reads_trailers(&head.headers) && waits_for_100(&head.headers));
        let sent = for_upstream(&fields, true);
        assert_eq!(
            (sent["te"].as_bytes(), sent["via"].as_bytes(), sent.contains_key("x-mine")),
            (&b"trailers"[..], &b"1.1 floodmark"[..], false)
        );
    }

    #[test]
    fn the_target_names_the_host_before_the_header_does() {
        let head = parts(Request::builder().uri("http://target.test/x").header("host", "other.test"));
        assert_eq!(of_request(&head).unwrap().text(":authority"), Some("target.test"));
        assert_eq!(of_request(&parts(Request::builder().uri("/"))), Err(Failure::BadRequest("no host")));
        assert_eq!(of_request(&parts(Request::builder().method("CONNECT").uri("a.test:443"))), Err(Failure::Tunnel));
    }

    #[test]
    fn bytes_that_are_no_field_are_left_out() {
        let fields: Headers = [("x-good", &b"\xff"[..]), ("x bad", b"1"), ("x-line", b"a\nb"), (":path", b"/")].into_iter().collect();
        let sent = sent_on(&fields);
        assert_eq!((sent.len(), sent["x-good"].as_bytes()), (1, &b"\xff"[..]));
    }
}
