"""Odd inputs of the store: names that are not Unicode, many versions of one span."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from debugger.store import Store

from .otlp import line, span


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.memory() as fresh:
        yield fresh


def test_a_file_name_that_is_not_unicode_is_shown_with_stand_ins(store: Store, tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl"))
    try:
        odd.write_bytes(line(span()) + b"junk\n")
    except OSError:
        pytest.skip("this file system takes Unicode names only")
    summary = store.load([tmp_path])
    assert summary.spans == 1
    assert [Path(row.path).name for row in summary.issues] == ["\ufffd.jsonl"]
    assert store.traces()[0].source.endswith("\ufffd.jsonl")


def test_many_versions_of_one_span_are_told_apart_by_what_they_say(store: Store, tmp_path: Path) -> None:
    names = ["a", "b", "a", "c", "b", "a"] * 20
    (tmp_path / "same.jsonl").write_bytes(b"".join(line(span(name=name)) for name in names))
    summary = store.load([tmp_path / "same.jsonl"])
    (row,) = store.traces()
    assert row.spans == 3
    assert "is there 3 times, with different content" in summary.issues[-1].reason
