//! Request bodies that arrive in given pieces, with pauses between them and trailers at the end.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::HeaderMap;
use hyper::body::Frame;
use hyper::header::{HeaderName, HeaderValue};

pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Cuts `whole` into pieces of the given sizes; the last size repeats. A size of 0 counts as 1.
pub(super) fn cut(whole: &[u8], sizes: &[usize]) -> Vec<Bytes> {
    let whole = Bytes::copy_from_slice(whole);
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < whole.len() {
        let size = sizes.get(pieces.len()).or(sizes.last()).copied().unwrap_or(whole.len()).max(1);
        let end = (at + size).min(whole.len());
        pieces.push(whole.slice(at..end));
        at = end;
    }
    pieces
}

/// A body of `chunks` as single frames, then `trailers` if there are any.
pub(super) fn stream(chunks: Vec<Bytes>, pause: Duration, trailers: &[(String, String)]) -> anyhow::Result<Body> {
    let mut map = HeaderMap::new();
    for (name, value) in trailers {
        let parsed = (name.parse::<HeaderName>(), value.parse::<HeaderValue>());
        map.append(parsed.0.with_context(|| format!("bad trailer name {name:?}"))?, parsed.1.context("bad trailer value")?);
    }
    let last = (!map.is_empty()).then(|| Frame::trailers(map));
    let frames: Vec<Frame<Bytes>> = chunks.into_iter().map(Frame::data).chain(last).collect();
    let frames = stream::unfold((frames.into_iter(), true), move |(mut left, first)| async move {
        let frame = left.next()?;
        if !first && !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        Some((Ok(frame), (left, false)))
    });
    Ok(StreamBody::new(frames).boxed_unsync())
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn pieces_follow_the_sizes_and_the_last_size_repeats() {
        let pieces = cut(b"abcdefgh", &[1, 3, 2]);
        let pieces: Vec<&[u8]> = pieces.iter().map(|p| &p[..]).collect();
        assert_eq!(pieces, [&b"a"[..], b"bcd", b"ef", b"gh"]);
        assert!(cut(b"", &[5]).is_empty());
    }
}
