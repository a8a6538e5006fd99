"""Floodmark's sealed lineage bytes, read and written from docs/lineage-format.md alone: an independent twin of core/src/lineage."""

import hmac
import math
import struct

from blake3 import blake3

CONTEXT = "floodmark 2026-11-30 lineage"
DOMAIN = b"floodmark lineage 1 "
TAG_BYTES = 32
MAX_PARENTS, MAX_ARGUMENTS, MAX_CHOICES = 64, 32, 32

CHANNELS = ["user", "approved_source", "agent", "tool", "web", "import", "plugin", "pasted", "scheduler", "unknown"]
LIMITS = ["any", "one_of", "max"]


class Malformed(Exception):
    """The bytes are not the one spelling of a sealed thing."""


# Each shape is a pair of functions: (value, out) appends the value's bytes, (bytes, at) gives the value and where the next begins.
def write_varint(value, out):
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def read_varint(data, at, bits=64):
    value = shift = 0
    while True:
        if at >= len(data) or shift >= 70:
            raise Malformed("a number has no end")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    if value >> bits:
        raise Malformed("a number is too large")
    return value, at


def take(data, at, count):
    if at + count > len(data):
        raise Malformed("the bytes end too soon")
    return data[at : at + count], at + count


NUMBER = (write_varint, read_varint)


def one_byte():
    return (lambda value, out: out.append(value)), (lambda data, at: (take(data, at, 1)[0][0], at + 1))


def text(least, most):
    def write(value, out):
        raw = value.encode()
        write_varint(len(raw), out)
        out += raw

    def read(data, at):
        count, at = read_varint(data, at)
        raw, at = take(data, at, count)
        try:
            value = raw.decode()
        except UnicodeDecodeError as error:
            raise Malformed("a text is not UTF-8") from error
        if not least <= count <= most:
            raise Malformed(f"a text has {count} bytes, not {least} to {most}")
        if any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in value):
            raise Malformed("a text holds a control character")
        return value, at

    return write, read


def digest():
    def write(value, out):
        out += value

    return write, lambda data, at: take(data, at, 32)


def listed(shape, least, most, key=None):
    """A list; with `key` its items ascend strictly by it."""

    def write(values, out):
        write_varint(len(values), out)
        for value in values:
            shape[0](value, out)

    def read(data, at):
        count, at = read_varint(data, at)
        if not least <= count <= most:
            raise Malformed(f"a list has {count} items, not {least} to {most}")
        values = []
        for _ in range(count):
            value, at = shape[1](data, at)
            if key and values and key(values[-1]) >= key(value):
                raise Malformed("a list does not ascend")
            values.append(value)
        return values, at

    return write, read


def choice(names):
    def read(data, at):
        number, at = read_varint(data, at, 32)
        if number >= len(names):
            raise Malformed("a choice that does not exist")
        return names[number], at

    return (lambda value, out: write_varint(names.index(value), out)), read


def optional(shape):
    def write(value, out):
        out.append(0 if value is None else 1)
        if value is not None:
            shape[0](value, out)

    def read(data, at):
        (flag,), at = take(data, at, 1)
        if flag > 1:
            raise Malformed("an option is neither there nor absent")
        return shape[1](data, at) if flag else (None, at)

    return write, read


def limit():
    """What one argument of a call may be: ("any",), ("one_of", [texts]) or ("max", number)."""
    texts = listed(text(0, 1024), 1, MAX_CHOICES)
    which = choice(LIMITS)

    def write(value, out):
        which[0](value[0], out)
        if value[0] == "one_of":
            texts[0](value[1], out)
        elif value[0] == "max":
            out += struct.pack("<d", value[1])

    def read(data, at):
        name, at = which[1](data, at)
        if name == "one_of":
            values, at = texts[1](data, at)
            return (name, values), at
        if name == "max":
            raw, at = take(data, at, 8)
            (number,) = struct.unpack("<d", raw)
            if not math.isfinite(number):
                raise Malformed("a limit is not finite")
            return (name, number), at
        return (name,), at

    return write, read


def pair(first, second):
    def write(value, out):
        first[0](value[0], out)
        second[0](value[1], out)

    def read(data, at):
        one, at = first[1](data, at)
        two, at = second[1](data, at)
        return (one, two), at

    return write, read


START = [("format", one_byte()), ("key", text(1, 32))]
FIELDS = {
    "record": [
        *START,
        ("tenant", text(1, 128)),
        ("principal", text(1, 256)),
        ("store", text(1, 128)),
        ("entry", text(1, 512)),
        ("entry_version", NUMBER),
        ("channel", choice(CHANNELS)),
        ("author", text(0, 256)),
        ("parents", listed(digest(), 0, MAX_PARENTS, key=lambda parent: parent)),
        ("policy", text(1, 64)),
        ("created_ms", NUMBER),
        ("content", digest()),
    ],
    "grant": [
        *START,
        ("name", text(1, 64)),
        ("tenant", text(1, 128)),
        ("principal", optional(text(1, 256))),
        ("tool", text(1, 128)),
        ("arguments", listed(pair(text(1, 128), limit()), 0, MAX_ARGUMENTS, key=lambda argument: argument[0].encode())),
        ("granter", text(1, 64)),
        ("created_ms", NUMBER),
        ("expires_ms", NUMBER),
    ],
    "release": [
        *START,
        ("tenant", text(1, 128)),
        ("content", digest()),
        ("granter", text(1, 64)),
        ("created_ms", NUMBER),
        ("expires_ms", NUMBER),
    ],
    "head": [
        *START,
        ("tenant", text(1, 128)),
        ("store", text(1, 128)),
        ("counter", NUMBER),
        ("count", NUMBER),
        ("set", digest()),
        ("created_ms", NUMBER),
    ],
}


def encode(kind, fields):
    """The body. Nothing is checked, so that tests can write what readers must refuse."""
    out = bytearray()
    for name, shape in FIELDS[kind]:
        shape[0](fields[name], out)
    return bytes(out)


def decode(kind, body):
    """The fields of a body; [`Malformed`] for every other spelling of them."""
    fields, at = {}, 0
    for name, shape in FIELDS[kind]:
        fields[name], at = shape[1](body, at)
        if name == "format" and fields[name] != 1:
            raise Malformed("another format")
    if at != len(body):
        raise Malformed("bytes are left over")
    if encode(kind, fields) != body:
        raise Malformed("another spelling of the same fields")
    if kind == "grant" and fields["expires_ms"] <= fields["created_ms"]:
        raise Malformed("it expires before it begins")
    return fields


def sub_key(secret):
    return blake3(secret, derive_key_context=CONTEXT).digest()


def keyed(key, domain, data):
    return blake3(DOMAIN + domain + b"\0" + data, key=key).digest()


def seal(kind, fields, ring):
    body = encode(kind, fields)
    return body + keyed(ring[fields["key"]], kind.encode(), body)


def unseal(kind, sealed, ring):
    """The fields and `None`, or what is wrong: `malformed`, `unknown_key` or `hash_mismatch`."""
    body, tag = sealed[:-TAG_BYTES], sealed[-TAG_BYTES:]
    try:
        fields = decode(kind, body)
    except Malformed:
        return None, "malformed"
    key = ring.get(fields["key"])
    if key is None:
        return None, "unknown_key"
    if not hmac.compare_digest(keyed(key, kind.encode(), body), tag):
        return None, "hash_mismatch"
    return fields, None


def record_hash(sealed):
    return blake3(DOMAIN + b"hash\0" + sealed).digest()


def content_digest(content):
    return blake3(content).digest()


def set_digest(key, hashes):
    """What a head says of the records that its store holds, in any order."""
    total = sum(int.from_bytes(keyed(key, b"element", one), "little") for one in hashes) % (1 << 256)
    return keyed(key, b"set", total.to_bytes(32, "little"))
