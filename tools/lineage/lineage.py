"""Checks Floodmark's lineage format without any of its code.

    lineage.py check VECTORS ORACLE PAGE   every vector, every case of the oracle, and the page's example; says what fails
    lineage.py write VECTORS               makes the vectors anew
    lineage.py bench N...                  median microseconds of verifying a chain of N records, as JSON
"""

import json
import os
import random
import statistics
import sys
import time
from pathlib import Path

import gate
import vectors
from sealed import content_digest, record_hash, seal, sub_key


def check(vectors_file, oracle_file, page_file):
    """Whether all is as it should be; prints a line for each that is not, and how many are."""
    given = json.loads(Path(vectors_file).read_text())
    passed, failed = vectors.check(given)
    first, page = given["valid"][0], Path(page_file).read_text()
    for line in (f"body    {first['sealed'][:-64]}", f"tag     {first['sealed'][-64:]}", f"hash    {first['hash']}"):
        if line in page.splitlines():
            passed += 1
        else:
            failed.append(f"{page_file}: its example lacks the line {line}")
    oracle = json.loads(Path(oracle_file).read_text())
    for case in oracle["cases"]:
        for name, (expected, found) in run_case(case).items():
            if expected == found:
                passed += 1
            else:
                failed.append(f"{oracle_file}: {case['name']}: entry {name}: expected {expected}, found {found}")
    for row in oracle["gate_table"]:
        found = gate.decide(*(row[key] for key in ("authority_class", "broken", "instruction_like", "effect", "in_mandate")))
        if found == row["expect"]:
            passed += 1
        else:
            failed.append(f"{oracle_file}: {row}: found {found}")
    for line in failed:
        print(line)
    print(f"{passed} passed, {len(failed)} failed")
    return not failed


def run_case(case):
    """What is expected and what is found for each entry: class, and whether it is broken."""
    how = {change["id"]: change["how"] for change in case["tamper"]}
    nodes = {}
    for entry in case["entries"]:
        name = entry["id"]
        if how.get(name) != "deleted":
            broken = "hash_mismatch" if name in how else None
            nodes[name] = {"channel": entry["channel"], "author": entry["author"], "parents": entry["parents"], "broken": broken}
    found = gate.classify(nodes, case["approved_sources"])
    expected = {name: (want["authority_class"], want["broken"] is not None) for name, want in case["expect"].items()}
    return {name: (want, (found[name][0], found[name][1] is not None)) for name, want in expected.items()}


def bench(lengths):
    """Verifies chains as a program in Python would: each record's bytes, tag, hash and class, then the gate's table."""
    secret = bytes(range(32))
    ring = {"k1": sub_key(secret)}
    answers = {}
    for length in lengths:
        records, parents = [], []
        content = b"The quarterly report is due on the first Monday of the month."
        for at in range(length):
            fields = dict(
                format=1, key="k1", tenant="acme", principal="alice", store="notes", entry=f"note-{at}", entry_version=1,
                channel="user" if at == 0 else "agent", author="alice", parents=parents, policy="1", created_ms=1_790_000_000_000 + at,
                content=content_digest(content),
            )  # fmt: skip
            records.append(seal("record", fields, ring))
            parents = [record_hash(records[-1])]
        entry = {"record": records[-1], "content": content}
        expected = (1 if length == 1 else 3, None)

        def once():
            found = gate.verify(entry, records[:-1], ring, [], "acme", "alice")
            return found, gate.decide(*found, False, "read", False)

        assert once() == (expected, "run"), once()
        times = []
        for _ in range(max(50, 3000 // length)):
            begun = time.perf_counter_ns()
            once()
            times.append(time.perf_counter_ns() - begun)
        answers[str(length)] = statistics.median(times) / 1000
    print(json.dumps(answers))


def main(arguments):
    match arguments:
        case ["check", vectors_file, oracle_file, page_file]:
            return check(vectors_file, oracle_file, page_file)
        case ["write", vectors_file]:
            text = json.dumps(vectors.make(random.Random(7)), indent=1) + "\n"
            fresh = f"{vectors_file}.new"
            Path(fresh).write_text(text)
            os.replace(fresh, vectors_file)
            return True
        case ["bench", *lengths] if lengths and all(length.isdigit() and int(length) > 0 for length in lengths):
            bench([int(length) for length in lengths])
            return True
        case _:
            print(__doc__, file=sys.stderr)
            return False


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
