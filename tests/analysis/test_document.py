"""What is copied of a document is what was recorded."""

from __future__ import annotations

import json

from debugger.analysis.document import Builder, Piece, json_lines
from debugger.analysis.text import with_escapes

TEXT = "a\x1b[2J\tb\r\nc\u202ed\x7f\x9b\ud800"


def test_a_text_keeps_all_but_its_control_characters():
    assert with_escapes(TEXT) == "a\\u001b[2J\tb\\r\nc\u202ed\\u007f\\u009b\\ud800"
    assert with_escapes("plain ☃") == "plain ☃"


def test_a_value_is_copied_alone_and_as_json():
    out = Builder()
    out.text("text", TEXT, indent=4, first=(Piece("thinking: "),))
    out.json("json", {"k\x9b": [TEXT, "x" * 5000], "bytes": [b"\x00\x01"]}, indent=2)
    text, value = out.document().blocks
    assert text.original == with_escapes(TEXT)
    assert value.original == value.original_in_place
    assert json.loads(value.original) == {"k\x9b": [TEXT, "x" * 5000], "bytes": ["2 bytes: 00 01"]}
    assert out.document().original == f"thinking: {with_escapes(TEXT)}\n{value.original}"


def test_lines_without_a_value_of_their_own_are_copied_piece_by_piece():
    out = Builder()
    out.pair("name\x07", "a\x00b", indent=2)
    out.folded("tools", json_lines({"long\x9b": "\x9b" * 4500})[0], json_lines({"long\x9b": "\x9b" * 4500})[1:])
    pair, folded = out.document().blocks
    assert pair.original.split() == ["name\\u0007", "a\\u0000b"]
    assert folded.original.replace("\n", "").count("\\u009b") == 4501
