"""The test vectors of docs/lineage-format.md: sealed things with their fields, bytes that readers must refuse, sets, and chains with their classes."""

import gate
from sealed import (
    CHANNELS, FIELDS, content_digest, encode, keyed, record_hash, seal, set_digest, sub_key, unseal,
)  # fmt: skip

# Secrets of test vectors are public; nobody may configure them.
SECRETS = {"k1": bytes(range(32)), "k2": bytes(range(32, 64))}
STRANGER = {"k9": bytes(range(64, 96))}
NOW_MS = 1_790_000_000_000


def ring(secrets):
    return {name: sub_key(secret) for name, secret in secrets.items()}


def record(**changes):
    fields = dict(
        format=1, key="k1", tenant="acme", principal="alice", store="notes", entry="note-1", entry_version=1, channel="user", author="alice",
        parents=[], policy="1", created_ms=NOW_MS, content=content_digest(b"The meeting is on Monday."),
    )  # fmt: skip
    return fields | changes


def release(**changes):
    return dict(format=1, key="k1", tenant="acme", content=content_digest(b"x"), granter="ops", created_ms=NOW_MS, expires_ms=0) | changes


def grant(**changes):
    fields = dict(
        format=1, key="k1", name="standup", tenant="acme", principal="alice", tool="calendar.*", granter="ops", created_ms=NOW_MS,
        expires_ms=NOW_MS + 86_400_000, arguments=[("attendees", ("any",)), ("minutes", ("max", 30.5)), ("room", ("one_of", ["A1", "Bücher"]))],
    )  # fmt: skip
    return fields | changes


def head(**changes):
    return dict(format=1, key="k1", tenant="acme", store="notes", counter=300, count=2, set=bytes(32), created_ms=NOW_MS) | changes


def shown(value):
    """Fields as JSON: digests in hex, limits as objects."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple) and value[0] in ("any", "one_of", "max"):
        return {value[0]: value[1] if len(value) > 1 else True}
    if isinstance(value, tuple):
        return {"name": value[0], "limit": shown(value[1])}
    if isinstance(value, list):
        return [shown(item) for item in value]
    if isinstance(value, dict):
        return {name: shown(item) for name, item in value.items()}
    return value


def valid():
    things = [("record", record(channel=channel, entry=channel)) for channel in CHANNELS]
    parents = sorted(content_digest(bytes([n])) for n in range(64))
    things += [
        ("record", record(key="k2", author="", created_ms=0)),
        ("record", record(channel="agent", parents=parents[:1])),
        ("record", record(channel="agent", parents=parents, entry="e" * 512, author="ä" * 128, tenant="t" * 128, principal="p" * 256, store="s" * 128)),
        ("record", record(entry_version=2**64 - 1, policy="p" * 64)),
        ("record", record(tenant="株式会社", principal="алиса", store="ملاحظات")),
        ("release", release()),
        ("release", release(key="k2", expires_ms=NOW_MS + 1, granter="g" * 64)),
        ("grant", grant()),
        ("grant", grant(principal=None, arguments=[], tool="*")),
        ("grant", grant(arguments=[("amount", ("max", -0.0)), ("to", ("one_of", [""]))])),
        ("head", head()),
        ("head", head(counter=0, count=0, set=set_digest(sub_key(SECRETS["k1"]), []))),
    ]
    return things


def invalid():
    """Triples of kind, what is wrong and sealed bytes. All but the last few have the right tag, so that nothing but their spelling tells."""
    own = ring(SECRETS)

    def tagged(kind, body, key="k1", domain=None):
        return body + keyed(own[key], (domain or kind).encode(), body)

    plain = encode("record", record())
    start = b"\x01\x02k1"
    two = sorted(content_digest(bytes([n])) for n in range(2))
    with_two = encode("record", record(channel="agent", parents=two))
    version_at = len(encode("record", record())) - len(_after("record", record(), "entry_version"))
    created_at = len(plain) - 32 - 6
    cases = [
        ("record", "malformed", "format 2", tagged("record", b"\x02" + plain[1:])),
        ("record", "malformed", "a length in two bytes", tagged("record", b"\x01\x82\x00k1" + plain[len(start) :])),
        ("record", "malformed", "a version in two bytes", tagged("record", plain[:version_at] + b"\x81\x00" + plain[version_at + 1 :])),
        ("record", "malformed", "a version in ten bytes", tagged("record", plain[:version_at] + b"\x81" + b"\x80" * 8 + b"\x00" + plain[version_at + 1 :])),
        ("record", "malformed", "a version over 64 bits", tagged("record", plain[:version_at] + b"\xff" * 9 + b"\x7f" + plain[version_at + 1 :])),
        ("record", "malformed", "a channel in two bytes", tagged("record", plain[: version_at + 1] + b"\x80\x00" + plain[version_at + 2 :])),
        ("record", "malformed", "channel 10", tagged("record", plain[: version_at + 1] + b"\x0a" + plain[version_at + 2 :])),
        ("record", "malformed", "a time in seven bytes", tagged("record", plain[: created_at + 5] + bytes([plain[created_at + 5] | 0x80]) + b"\0" + plain[-32:])),
        ("record", "malformed", "a byte too many", tagged("record", plain + b"\0")),
        ("record", "malformed", "a byte too few", tagged("record", plain[:-1])),
        ("record", "malformed", "parents that do not ascend", tagged("record", encode("record", record(channel="agent", parents=two[::-1])))),
        ("record", "malformed", "a parent twice", tagged("record", encode("record", record(channel="agent", parents=[two[0], two[0]])))),
        ("record", "malformed", "65 parents", tagged("record", encode("record", record(parents=sorted(content_digest(bytes([n])) for n in range(65)))))),
        ("record", "malformed", "no tenant", tagged("record", encode("record", record(tenant="")))),
        ("record", "malformed", "an author of 257 bytes", tagged("record", encode("record", record(author="a" * 257)))),
        ("record", "malformed", "a line break in a name", tagged("record", encode("record", record(store="a\nb")))),
        ("record", "malformed", "U+0085 in a name", tagged("record", encode("record", record(entry="a\u0085b")))),
        ("record", "malformed", "a text that is not UTF-8", tagged("record", plain.replace(b"acme", b"acm\xff"))),
        ("record", "malformed", "nothing but a tag", keyed(own["k1"], b"record", b"")),
        ("record", "malformed", "fewer bytes than a tag", b"\x01\x02k1"),
        ("record", "malformed", "nothing", b""),
        ("grant", "malformed", "an option of 2", tagged("grant", encode("grant", grant()).replace(b"\x01\x05alice", b"\x02\x05alice"))),
        ("grant", "malformed", "a limit that is not a number", tagged("grant", encode("grant", grant(arguments=[("n", ("max", float("nan")))])))),
        ("grant", "malformed", "a limit without end", tagged("grant", encode("grant", grant(arguments=[("n", ("max", float("inf")))])))),
        ("grant", "malformed", "arguments that do not ascend", tagged("grant", encode("grant", grant(arguments=[("b", ("any",)), ("a", ("any",))])))),
        ("grant", "malformed", "an empty choice", tagged("grant", encode("grant", grant(arguments=[("a", ("one_of", []))])))),
        ("grant", "malformed", "it expires as it begins", tagged("grant", encode("grant", grant(expires_ms=NOW_MS)))),
        ("record", "unknown_key", "a key that the ring does not have", seal("record", record(key="k9"), ring(STRANGER))),
        ("record", "hash_mismatch", "a stranger's tag under our key's name", encode("record", record()) + seal("record", record(), ring({"k1": STRANGER["k9"]}))[-32:]),
        ("record", "hash_mismatch", "our other key's tag", tagged("record", plain, key="k2")),
        ("record", "hash_mismatch", "a grant's domain", tagged("record", plain, domain="grant")),
        ("record", "hash_mismatch", "a tag of zeros", plain + bytes(32)),
        ("release", "hash_mismatch", "a head's domain", tagged("release", encode("release", release()), domain="head")),
    ]
    assert with_two != encode("record", record(channel="agent", parents=two[::-1]))
    return cases


def _after(kind, fields, name):
    """The body's bytes from a field on."""
    names = [field for field, _ in FIELDS[kind]]
    out = bytearray()
    for field, shape in FIELDS[kind][names.index(name) :]:
        shape[0](fields[field], out)
    return bytes(out)


def chains(random):
    """Entries with their ancestors' records, and the class of each: random graphs over two tenants' principals and three keys."""
    everyone = ring(SECRETS | STRANGER)
    cases = []
    for _ in range(60):
        records = []
        for at in range(random.randint(1, 12)):
            parents = random.sample(records, min(len(records), random.choice([0, 1, 1, 2, 3])))
            fields = record(
                key=random.choices(["k1", "k2", "k9"], [16, 8, 1])[0],
                principal=random.choices(["alice", "mallory"], [30, 1])[0],
                entry=f"e{at}",
                channel=random.choices(CHANNELS[:5], [8, 4, 10, 0.5, 0.5])[0],
                author=random.choices(["docs.example", "evil.example"], [8, 1])[0],
                parents=sorted(record_hash(parent) for parent in parents),
                content=content_digest(f"content {at}".encode()),
            )
            records.append(seal("record", fields, everyone))
        number = random.randrange(len(records))
        kept = [one for one in records if one == records[number] or random.random() > 0.04]
        content = b"other" if random.random() < 0.05 else f"content {number}".encode()
        found = gate.verify({"record": records[number], "content": content}, kept, ring(SECRETS), ["docs.example"], "acme", "alice")
        cases.append(
            {
                "record": records[number].hex(),
                "entry": f"e{number}",
                "content": content.decode(),
                "ancestors": [one.hex() for one in kept if one != records[number]],
                "authority_class": found[0],
                "broken": found[1] is not None,
            }
        )
    return cases


def make(random):
    own = ring(SECRETS)
    things = []
    for kind, fields in valid():
        sealed = seal(kind, fields, own)
        thing = {"kind": kind, "fields": shown(fields), "sealed": sealed.hex()}
        things.append(thing | ({"hash": record_hash(sealed).hex()} if kind == "record" else {}))
    hashes = [thing["hash"] for thing in things if "hash" in thing][:6]
    return {
        "made_by": "tools/lineage/lineage.py write testdata/lineage/vectors.json",
        "secrets": [{"id": name, "secret": secret.hex(), "sub_key": sub_key(secret).hex()} for name, secret in SECRETS.items()],
        "valid": things,
        "invalid": [{"kind": kind, "expect": expect, "what": what, "sealed": sealed.hex()} for kind, expect, what, sealed in invalid()],
        "sets": [
            {"key": "k1", "hashes": hashes[:count], "set": set_digest(own["k1"], map(bytes.fromhex, hashes[:count])).hex()} for count in (0, 1, 2, 6)
        ],
        "chains": {"approved_sources": ["docs.example"], "tenant": "acme", "principal": "alice", "store": "notes", "cases": chains(random)},
    }


def check(given):
    """How many vectors read as they say, and a line for each that does not."""
    passed, failed = 0, []
    secrets = {one["id"]: bytes.fromhex(one["secret"]) for one in given["secrets"]}
    own = ring(secrets)

    def hold(what, truth):
        nonlocal passed
        if truth:
            passed += 1
        else:
            failed.append(f"vectors: {what}")

    for one in given["secrets"]:
        hold(f"sub-key of {one['id']}", own[one["id"]].hex() == one["sub_key"])
    for number, thing in enumerate(given["valid"]):
        sealed = bytes.fromhex(thing["sealed"])
        fields, problem = unseal(thing["kind"], sealed, own)
        hold(f"valid[{number}]: {problem}", problem is None and shown(fields) == thing["fields"])
        hold(f"valid[{number}]: hash", "hash" not in thing or record_hash(sealed).hex() == thing["hash"])
    for number, thing in enumerate(given["invalid"]):
        _, problem = unseal(thing["kind"], bytes.fromhex(thing["sealed"]), own)
        hold(f"invalid[{number}] ({thing['what']}): {problem}", problem == thing["expect"])
    for number, one in enumerate(given["sets"]):
        hold(f"sets[{number}]", set_digest(own[one["key"]], map(bytes.fromhex, one["hashes"])).hex() == one["set"])
    chains_given = given["chains"]
    for number, case in enumerate(chains_given["cases"]):
        entry = {"record": bytes.fromhex(case["record"]), "content": case["content"].encode()}
        ancestors = [bytes.fromhex(one) for one in case["ancestors"]]
        found = gate.verify(entry, ancestors, own, chains_given["approved_sources"], chains_given["tenant"], chains_given["principal"])
        hold(f"chains[{number}]: {found}", found[0] == case["authority_class"] and (found[1] is not None) == case["broken"])
    return passed, failed
