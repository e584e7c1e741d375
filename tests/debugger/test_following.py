"""Files that grow while they are shown: what is added is read once, and what is cut off is waited for."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from debugger.importers import Follower, _follow
from debugger.importers._follow import MOST_FILES
from debugger.store import Store

from .otlp import START, TRACE

CASES = Path(__file__).parents[1] / "data" / "cases"


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.memory() as fresh:
        yield fresh


def line(number: int, **more: Any) -> bytes:
    span = {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "name": f"s{number}",
        "startTimeUnixNano": str(START + number),
        "endTimeUnixNano": str(START + number + 5),
    } | more
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode() + b"\n"


def grow(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)
    stamp = path.stat().st_mtime_ns + 1_000  # a clock as coarse as its ticks must not hide a change
    os.utime(path, ns=(stamp, stamp))


def look(store: Store, follower: Follower) -> int:
    return store.load_new(follower).spans if follower.has_news() else 0


def names(store: Store) -> list[str]:
    return [row.name for trace in store.traces() for row in store.spans(trace.trace_id)]


def test_a_line_in_the_making_is_waited_for_and_read_once(store: Store, tmp_path: Path) -> None:
    """The case 07: its last line comes in pieces."""
    data = (CASES / "07-truncated.jsonl").read_bytes()
    path = tmp_path / "growing.jsonl"
    path.write_bytes(data)
    follower = Follower([path])
    assert look(store, follower) == 3
    assert [(row.line, row.reason) for row in store.issues()] == [(3, "not JSON")]
    assert follower.following(is_on=True).waiting == ((str(path), 6),)
    grow(path, b"")
    assert look(store, follower) == 0
    whole = line(9)
    kept = data.rpartition(b"\n")[0] + b"\n"
    path.write_bytes(kept)
    for at in range(0, len(whole), 48):
        grow(path, whole[at : at + 48])
        look(store, follower)
        assert ("s9" in names(store)) == (at + 48 >= len(whole) - 1)
        assert [row.line for row in store.issues()] == [3]
    assert follower.following(is_on=True).waiting == ()
    grow(path, b"neither JSON\n" + line(10))
    assert look(store, follower) == 1
    assert [(row.line, row.reason) for row in store.issues()] == [(3, "not JSON"), (7, "not JSON")]
    assert names(store).count("s9") == 1


def test_the_end_of_a_span_comes_later(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    path.write_bytes(line(1, endTimeUnixNano="0"))
    follower = Follower([path])
    look(store, follower)
    assert store.traces()[0].unfinished == 1
    grow(path, line(1))
    assert look(store, follower) == 1
    assert [(row.spans, row.unfinished) for row in store.traces()] == [(1, 0)]


def test_an_empty_file_and_a_new_one_in_a_folder(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.touch()
    follower = Follower([tmp_path])
    assert look(store, follower) == 0
    grow(path, line(1).rstrip())
    assert look(store, follower) == 1, "whole, though its line has no end"
    (tmp_path / "b.jsonl").write_bytes(line(2))
    grow(path, b"\n" + line(3))
    assert look(store, follower) == 2
    assert (sorted(names(store)), store.issues()) == (["s1", "s2", "s3"], [])
    assert not follower.has_news()


def test_a_file_that_is_cut_off_or_replaced_is_read_from_its_start(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "rotated.jsonl"
    path.write_bytes(line(1) + line(2))
    follower = Follower([path])
    assert look(store, follower) == 2
    path.write_bytes(line(3))
    assert look(store, follower) == 1
    other = tmp_path / "other"
    other.write_bytes(line(3) + line(4) + line(5))
    other.replace(path)
    assert look(store, follower) == 3
    assert sorted(names(store)) == ["s1", "s2", "s3", "s4", "s5"], "read again, shown once"
    assert [row.reason[:25] for row in store.issues()] == ["was replaced or cut off w"] * 1
    path.unlink()
    assert look(store, follower) == 0
    path.write_bytes(line(6))
    assert look(store, follower) == 1, "gone for a while"


def test_what_counts_as_a_whole_is_read_again_and_what_was_said_of_it_forgotten(store: Store, tmp_path: Path) -> None:
    pretty = (CASES / "08-pretty.json").read_bytes()
    path = tmp_path / "pretty.json"
    path.write_bytes(pretty[:-40])
    follower = Follower([path])
    look(store, follower)
    assert len(store.issues()) == 1
    grow(path, pretty[-40:])
    assert look(store, follower) == 2
    assert store.issues() == []
    banner = tmp_path / "banner.jsonl"
    banner.write_bytes(b"starting up\n")
    follower = Follower([banner])
    look(store, follower)
    assert [row.reason for row in store.issues()] == ["looks like plain text"]
    grow(banner, line(7))
    assert look(store, follower) == 1
    assert [row.reason for row in store.issues()] == ["not JSON"]
    grow(banner, line(8))
    assert look(store, follower) == 1, "from here on piece by piece"


def test_values_over_several_lines_are_read_as_they_end(store: Store, tmp_path: Path) -> None:
    def printed(number: int) -> bytes:
        context = {"trace_id": f"0x{TRACE}", "span_id": f"0x{number:016x}", "trace_state": "[]"}
        item = {"name": f"s{number}", "context": context, "kind": "SpanKind.INTERNAL", "parent_id": None,
                "start_time": "2026-01-01T00:00:00.000001Z", "end_time": "2026-01-01T00:00:01.000001Z",
                "status": {"status_code": "UNSET"}, "attributes": {}, "events": [], "links": []}  # fmt: skip
        return json.dumps(item, indent=4).encode() + b"\n"

    path = tmp_path / "console.json"
    path.write_bytes(printed(1) + printed(2)[:100])
    follower = Follower([path])
    assert look(store, follower) == 1
    assert follower.following(is_on=True).waiting == ((str(path), printed(1).count(b"\n") + 1),)
    grow(path, printed(2)[100:] + printed(3).rpartition(b"}")[0])
    assert look(store, follower) == 1
    grow(path, printed(4))
    assert look(store, follower) == 1, "the torn one does not hold up what follows it"
    assert [row.reason for row in store.issues()] == ["ends in the middle"]


def test_what_cannot_be_followed_says_why(store: Store, tmp_path: Path) -> None:
    packed = tmp_path / "t.jsonl.gz"
    packed.write_bytes(gzip.compress(line(1)))
    image = tmp_path / "x.png"
    image.write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    follower = Follower([packed, image])
    assert look(store, follower) == 1
    packed.write_bytes(gzip.compress(line(1) + line(2)))
    assert not follower.has_news()
    now = follower.following(is_on=True)
    assert (now.files, now.not_followed) == (0, ((str(packed), "compressed (gzip); only plain files are followed"),))
    many = tmp_path / "many"
    many.mkdir()
    for number in range(MOST_FILES + 1):
        (many / f"{number}").touch()
    (many / "a").write_bytes(line(5))
    follower = Follower([many])
    assert look(store, follower) == 1
    ((_, why),) = follower.following(is_on=True).not_followed
    assert why == f"more than {MOST_FILES} files are not looked at again and again"


def test_a_text_is_not_counted_until_it_is_a_trace(store: Store, tmp_path: Path) -> None:
    (tmp_path / "trace.jsonl").write_bytes(line(1))
    notes = tmp_path / "notes"
    notes.write_text("What I saw.\n")
    follower = Follower([tmp_path])
    assert (look(store, follower), follower.following(is_on=True).files) == (1, 1)
    notes.write_bytes(line(2))
    assert (look(store, follower), follower.following(is_on=True).files) == (1, 2)


def test_a_line_beyond_the_bound_is_said_and_passed_over(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_follow, "MAX_BYTES", 1_000)
    path = tmp_path / "growing.jsonl"
    path.write_bytes(line(1) + line(2, name="x" * 600))
    follower = Follower([path])
    assert look(store, follower) == 2
    grow(path, line(3, name="x" * 2_000)[:-9])
    assert look(store, follower) == 0
    assert follower.following(is_on=True).waiting == ((str(path), 3),)
    grow(path, b"\n" + line(4))
    assert look(store, follower) == 1
    assert [row.reason[:28] for row in store.issues()] == ["line 3: a line of 0 MB, and "]
    grow(path, line(5))
    assert look(store, follower) == 1
    assert names(store)[-2:] == ["s4", "s5"]
