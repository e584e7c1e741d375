"""Keeping the trace of a replay beside its recording."""

from __future__ import annotations

import pytest

from debugger.errors import ReplayError
from debugger.replay.keep import copy_beside


@pytest.mark.parametrize(
    ("recording", "kept"),
    [
        ("desk.otlp.jsonl", "desk.replay-1.otlp.jsonl"),
        ("desk.jsonl.gz", "desk.replay-1.otlp.jsonl"),
        ("my.desk.json", "my.desk.replay-1.otlp.jsonl"),
        ("desk", "desk.replay-1.otlp.jsonl"),
        (".json", ".json.replay-1.otlp.jsonl"),
    ],
)
def test_the_name_is_that_of_the_recording(tmp_path, recording, kept):
    trace = tmp_path / "temporary"
    trace.write_bytes(b"spans")
    path = copy_beside(trace, tmp_path / recording)
    assert path == tmp_path / kept
    assert path.read_bytes() == b"spans"


def test_a_file_that_is_there_is_never_written_over(tmp_path):
    trace = tmp_path / "temporary"
    trace.write_bytes(b"new")
    (tmp_path / "a.replay-1.otlp.jsonl").write_bytes(b"old")
    assert copy_beside(trace, tmp_path / "a.jsonl").name == "a.replay-2.otlp.jsonl"
    assert (tmp_path / "a.replay-1.otlp.jsonl").read_bytes() == b"old"


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    trace = tmp_path / "temporary"
    trace.write_bytes(b"new")
    with pytest.raises(ReplayError, match="cannot be kept there") as caught:
        copy_beside(trace, tmp_path / "gone" / "a.jsonl")
    assert "-o FILE" in caught.value.hint
