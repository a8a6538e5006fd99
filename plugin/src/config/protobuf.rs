//! Envoy hands a configuration of type google.protobuf.Struct over as protobuf bytes; this reads them as JSON.
//!
//! Only the one message type, so a protobuf library would be many times the code of what is needed.

use serde_json::{Map, Number, Value};

/// Deepest nesting that is read; a valid configuration has six levels.
const MAX_DEPTH: usize = 32;

/// The object that `bytes` spell as a google.protobuf.Struct; `None` for anything else. JSON text is never taken for one: a Struct's entries hold
/// the byte 0x12, which JSON text cannot.
pub fn read(bytes: &[u8]) -> Option<Value> {
    if bytes.is_empty() { None } else { object(bytes, MAX_DEPTH) }
}

/// What a field holds, by its wire type.
enum Field<'b> {
    Varint(u64),
    Fixed64([u8; 8]),
    Bytes(&'b [u8]),
}

/// Takes the next field, with its number.
fn field<'b>(rest: &mut &'b [u8]) -> Option<(u64, Field<'b>)> {
    let tag = varint(rest)?;
    let field = match tag & 7 {
        0 => Field::Varint(varint(rest)?),
        1 => {
            let (value, tail) = rest.split_first_chunk::<8>()?;
            *rest = tail;
            Field::Fixed64(*value)
        }
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            let (value, tail) = rest.split_at_checked(length)?;
            *rest = tail;
            Field::Bytes(value)
        }
        _ => return None,
    };
    Some((tag >> 3, field))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, tail) = rest.split_first()?;
        *rest = tail;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// `Struct`: entries of a map in field 1, each with its key in field 1 and its value in field 2.
fn object(mut rest: &[u8], depth: usize) -> Option<Value> {
    let mut members = Map::new();
    while !rest.is_empty() {
        let (1, Field::Bytes(mut entry)) = field(&mut rest)? else { return None };
        let (mut key, mut member) = (String::new(), Value::Null);
        while !entry.is_empty() {
            match field(&mut entry)? {
                (1, Field::Bytes(text)) => key = core::str::from_utf8(text).ok()?.to_owned(),
                (2, Field::Bytes(bytes)) => member = value(bytes, depth)?,
                _ => return None,
            }
        }
        members.insert(key, member);
    }
    Some(Value::Object(members))
}

/// `Value`: one of null (1), number (2), string (3), bool (4), Struct (5), ListValue (6).
fn value(mut rest: &[u8], depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let mut found = Value::Null;
    while !rest.is_empty() {
        found = match field(&mut rest)? {
            (1, Field::Varint(_)) => Value::Null,
            (2, Field::Fixed64(bytes)) => number(f64::from_le_bytes(bytes))?,
            (3, Field::Bytes(text)) => Value::String(core::str::from_utf8(text).ok()?.to_owned()),
            (4, Field::Varint(truth)) => Value::Bool(truth != 0),
            (5, Field::Bytes(members)) => object(members, depth)?,
            (6, Field::Bytes(items)) => list(items, depth)?,
            _ => return None,
        };
    }
    Some(found)
}

/// `ListValue`: values in field 1.
fn list(mut rest: &[u8], depth: usize) -> Option<Value> {
    let mut items = Vec::new();
    while !rest.is_empty() {
        let (1, Field::Bytes(item)) = field(&mut rest)? else { return None };
        items.push(value(item, depth)?);
    }
    Some(Value::Array(items))
}

/// A Struct knows doubles only, so whole numbers are made whole again.
fn number(number: f64) -> Option<Value> {
    let whole = number as i64;
    if whole as f64 == number { Some(Value::from(whole)) } else { Number::from_f64(number).map(Value::Number) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Encoded by Google's Python library: `Struct` with `json_format.ParseDict` of the object below, `SerializeToString(deterministic=True)`.
    const FROM_GOOGLE: &str = "0ab7010a0864656661756c747312aa012aa7010a1b0a0e6d61785f626f64795f62797465731209110000000080842e410a110a046d6f646512091a07656e666f7263650a2f0a057061746873122632240a132a110a0f0a0673756666697812051a032fc3a90a0911000000000000f03f0a0232000a440a06706f6c696379123a2a380a360a0c636f6e766572736174696f6e12262a240a100a0372686f12091100000000000004c00a100a03746175120911000000000000e83f0a0d0a07656e61626c6564120220010a0a0a046e6f7465120208000a140a0776657273696f6e120911000000000000f03f";

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
    }

    #[test]
    fn what_googles_library_writes_is_read() {
        let expected = json!({
            "version": 1, "enabled": true, "note": null,
            "defaults": {"mode": "enforce", "max_body_bytes": 1_000_000, "policy": {"conversation": {"tau": 0.75, "rho": -2.5}}, "paths": [{"suffix": "/é"}, 1, []]},
        });
        assert_eq!(read(&bytes(FROM_GOOGLE)), Some(expected));
    }

    #[test]
    fn anything_else_is_none() {
        for text in ["", "{}", "{\"version\":1}", "\n{\"version\": 1}", "\n\n{\n \"a\": 1}", "\n"] {
            assert_eq!(read(text.as_bytes()), None, "{text:?}");
        }
        let whole = bytes(FROM_GOOGLE);
        for cut in 1..whole.len() {
            // Cut at a border of entries the rest is a shorter Struct; anywhere else it is none. Neither may panic.
            let _ = read(&whole[..cut]);
        }
        // A value nested deeper than is read: field 2 of an entry, again and again.
        let mut nested = vec![0x08, 0x00];
        for _ in 0..40 {
            let mut entry = vec![0x0a, 0x00, 0x12, u8::try_from(nested.len()).unwrap_or(0x7f)];
            entry.extend(&nested);
            let mut outer = vec![0x2a, u8::try_from(entry.len() + 2).unwrap_or(0x7f), 0x0a, u8::try_from(entry.len()).unwrap_or(0x7f)];
            outer.extend(entry);
            nested = outer;
        }
        assert_eq!(value(&nested, MAX_DEPTH), None);
    }
}
