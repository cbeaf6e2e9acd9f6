#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns the published requests of Http11Probe into a table for probe.c.

    python3 libs/http/tests/probe.py probe.json >libs/http/tests/probe.inc

The publication shows bytes above 127 as "?" and cuts requests at 8,192 bytes. The bytes that a
case is about are put back here, as its description names them.
"""
import itertools
import json
import sys

PUT_BACK = {
    "MAL-NON-ASCII-HEADER-NAME": (b"X-T??st", b"X-T\xc3\xabst"),
    "MAL-NON-ASCII-URL": (b"/caf??", b"/caf\xc3\xa9"),
    "MAL-URL-OVERLONG-UTF8": (b"/??", b"/\xc0\xaf"),
    "MAL-CONTROL-CHARS-HEADER": (b"\x08?f", b"\x08\xeff"),
}
PIECE_MAX = 48  # bytes
RUN_MIN = 64


def literal(data):
    text = ""
    for byte in data:
        char = chr(byte)
        if char in "\\\"?":
            text += "\\" + char
        elif 32 <= byte < 127:
            text += char
        else:
            text += {"\r": "\\r", "\n": "\\n", "\t": "\\t"}.get(char, "\\%03o" % byte)
    return '"%s"' % text


def pieces(data):
    """Yields (bytes, repetitions): long runs of one byte, and the rest in short pieces."""
    rest = b""
    for byte, group in itertools.groupby(data):
        count = len(list(group))
        if count >= RUN_MIN:
            if rest:
                yield rest, 1
            rest = b""
            yield bytes([byte]), count
            continue
        rest += bytes([byte]) * count
        while len(rest) > PIECE_MAX:
            yield rest[:PIECE_MAX], 1
            rest = rest[PIECE_MAX:]
    if rest or not data:
        yield rest, 1


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        probe = json.load(file)
    print("/* SPDX-License-Identifier: MIT */")
    print("/* Made by probe.py. Source: %s. */" % probe["source"])
    rows = []
    for number, case in enumerate(probe["cases"]):
        data = case["rawRequest"].encode("latin-1")
        if case["id"] in PUT_BACK:
            shown, sent = PUT_BACK[case["id"]]
            assert shown in data, case["id"]
            data = data.replace(shown, sent)
        print("static const struct probe_piece probe_%d[] = {" % number)
        count = 0
        for piece, times in pieces(data):
            print("    {%s, %d, %d}," % (literal(piece), len(piece), times))
            count += 1
        print("};")
        rows.append('    {"%s", "%s", %s, probe_%d, %d},' % (
            case["id"], case["expected"], "true" if case["scored"] else "false", number, count))
    print("static const struct probe_case probe_cases[] = {")
    print("\n".join(rows))
    print("};")


main()
