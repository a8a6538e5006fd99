//! Which key of a JSON text a place in it belongs to: errors name keys, the JSON reader knows lines and columns.

/// Where the walk stands inside an object or an array.
enum Inside<'t> {
    /// The key that was read last; none before the first and behind a comma.
    Object(Option<&'t str>),
    /// The element's number.
    Array(usize),
}

/// The path, for example `overrides[0].match`, of the key or the value that ends at a place or, where none does, lies around it. `line` and `column` as
/// serde_json counts them: lines from 1, columns in bytes up to the place. Empty for the whole. Does not recurse.
pub(super) fn path(text: &str, line: usize, column: usize) -> String {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1));
    let place = lines.map(str::len).sum::<usize>().saturating_add(column);
    let mut around: Vec<Inside<'_>> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at).filter(|_| at < place) {
        at += 1;
        match (byte, around.last_mut()) {
            (b'{', _) => around.push(Inside::Object(None)),
            (b'[', _) => around.push(Inside::Array(0)),
            (b'}' | b']', _) => drop(around.pop()),
            (b',', Some(Inside::Object(key))) => *key = None,
            (b',', Some(Inside::Array(number))) => *number += 1,
            (b'"', inside) => {
                let string = text.get(at..).map(string).unwrap_or_default();
                at += string.len() + 1;
                if let Some(Inside::Object(key @ None)) = inside {
                    *key = Some(string);
                }
            }
            _ => {}
        }
    }
    let mut path = String::new();
    for inside in around {
        match inside {
            Inside::Object(None) => {}
            Inside::Object(Some(key)) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            Inside::Array(number) => path.push_str(&format!("[{number}]")),
        }
    }
    path
}

/// What stands before the quote that closes a string, as it is spelled.
fn string(rest: &str) -> &str {
    let mut escaped = false;
    let end = rest.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    });
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn every_place_has_a_path() {
        let text = "{\"a\": [1, {\"b\\\"}\": \"x,]\"},\n  3], \"c\": {\"d\": true, \"e\": {}}}";
        // The place behind the first of each of these.
        for (upto, expected) in [
            ("{", ""),
            ("{\"a\"", "a"),
            ("{\"a\": ", "a"),
            ("[", "a[0]"),
            ("[1", "a[0]"),
            ("[1,", "a[1]"),
            ("\"b\\\"}\"", "a[1].b\\\"}"),
            ("\"x,]\"", "a[1].b\\\"}"),
            ("\"x,]\"}", "a[1]"),
            ("3", "a[2]"),
            ("3]", "a"),
            ("\"c\"", "c"),
            ("true", "c.d"),
            ("true,", "c"),
            ("\"e\": {}", "c.e"),
            ("\"e\": {}}", "c"),
            ("\"e\": {}}}", ""),
        ] {
            let end = text.find(upto).expect("it stands there") + upto.len();
            let line = 1 + text[..end].matches('\n').count();
            let column = end - text[..end].rfind('\n').map_or(0, |newline| newline + 1);
            assert_eq!(path(text, line, column), expected, "behind {upto}");
        }
        assert_eq!(path("", 1, 0), "");
        assert_eq!(path("{\"never closed", 1, 14), "never closed");
        assert_eq!(path("}}]]", 9, 9), "");
    }
}
