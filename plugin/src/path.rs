//! Request paths as servers see them, so that another spelling of a path is not another path.

/// A path without its query, percent-decoded once, with `.`, `..`, doubled slashes and `;parameters` resolved, as servers and proxies do
/// before they route. Of a whole URL, as HTTP/1.1 proxies are asked for it, the path alone. Bytes that are no UTF-8 become U+FFFD.
pub fn normalize(path: &[u8]) -> String {
    let path = without_authority(path);
    let path = path.split(|byte| matches!(byte, b'?' | b'#')).next().unwrap_or_default();
    let decoded = percent_decode(path);
    let decoded = String::from_utf8_lossy(&decoded);
    let mut segments: Vec<&str> = Vec::new();
    for segment in decoded.split(['/', '\\']) {
        match segment.split(';').next().unwrap_or_default() {
            "" | "." => (),
            ".." => drop(segments.pop()),
            name => segments.push(name),
        }
    }
    let end = if decoded.ends_with('/') && !segments.is_empty() { "/" } else { "" };
    format!("/{}{end}", segments.join("/"))
}

/// What follows scheme and authority, where a target begins with both (RFC 9112, 3.2.2).
fn without_authority(target: &[u8]) -> &[u8] {
    let Some(colon) = target.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"+-.".contains(byte)) else { return target };
    match target.get(colon..).and_then(|rest| rest.strip_prefix(b"://")) {
        Some(rest) => {
            let end = rest.iter().position(|byte| matches!(byte, b'/' | b'\\' | b'?' | b'#'));
            end.and_then(|end| rest.get(end..)).unwrap_or_default()
        }
        None => target,
    }
}

/// Whether a normalized path ends in `suffix`, whatever the case and with or without a slash at the end.
pub fn ends_with(path: &str, suffix: &str) -> bool {
    let (path, suffix) = (path.trim_end_matches('/').as_bytes(), suffix.trim_end_matches('/').as_bytes());
    path.len().checked_sub(suffix.len()).and_then(|from| path.get(from..)).is_some_and(|end| end.eq_ignore_ascii_case(suffix))
}

fn percent_decode(path: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, tail)) = rest.split_first() {
        let digit = |at: usize| tail.get(at).and_then(|&digit| char::from(digit).to_digit(16));
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                rest = tail.get(2..).unwrap_or_default();
            }
            _ => {
                decoded.push(byte);
                rest = tail;
            }
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_path() {
        for spelling in [
            "/v1/chat/completions",
            "/v1/chat/completions?x=/other",
            "/v1/chat/completion%73",
            "/v1/chat//completions",
            "/v1/chat/./completions",
            "/lab/../v1/chat/completions",
            "/v1/chat/completions;a=b",
            "/v1;x/chat%2Fcompletions#f",
            "\\v1\\chat\\completions",
            "http://ai.example/v1/chat/completions",
            "HTTPS://user@ai.example:8443//v1/chat/completions?x=http://y/",
        ] {
            assert_eq!(normalize(spelling.as_bytes()), "/v1/chat/completions", "{spelling}");
        }
        assert_eq!(
            (normalize(b"http://a?/b").as_str(), normalize(b"http://a").as_str(), normalize(b"/http://a/b").as_str()),
            ("/", "/", "/http:/a/b")
        );
        assert_eq!(normalize(b"/v1/chat/completions?x=\xff"), "/v1/chat/completions");
        assert_eq!(normalize(b"/\xff/a"), "/\u{fffd}/a");
        assert_eq!((normalize(b"/lab/").as_str(), normalize(b"/lab").as_str(), normalize(b"").as_str()), ("/lab/", "/lab", "/"));
        assert_eq!(normalize(b"/../../a%2"), "/a%2");
    }

    #[test]
    fn suffixes_are_whole_in_any_case() {
        assert!(ends_with("/v1/Chat/Completions/", "/chat/completions"));
        assert!(ends_with("/chat/completions", "/chat/completions/"));
        assert!(!ends_with("/xchat/completions", "/chat/completions"));
        assert!(!ends_with("/completions", "/chat/completions"));
    }
}
