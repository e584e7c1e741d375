"""The list that a segment keeps as texts says what its tables say, also where it is missing or of another form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

import debugger.store.library._packed as packed
from debugger.store import Library, Store, TraceRow
from debugger.store._database import connect, sql_text

from .otlp import START, line, span

TRACES = [f"{number:032x}" for number in range(1, 6)]
WIDE = 2**63 - 1
DAMAGE = (
    "drop table packed; create table packed as from whole; delete from packed",
    "delete from packed where ids like '%f\"]'",
    "update packed set ids = '[', traces = left(traces, 20)",
    "update packed set ids = 'null', traces = '[[1]]'",
    "update packed set ids = '[]', traces = '[]'",
    "update packed set ids = '[1]', traces = '{}'",
    "alter table packed drop column ids; alter table packed drop column traces",
    "drop table packed; create table packed as select 1 as place, 1 as form, 2 as ids, 3 as traces",
    "update packed set ids = null, traces = null",
    "update packed set place = null",
)


def file_of(folder: Path) -> Path:
    """Five traces, one whose tokens together pass 64 bits, and a trace of which there is a log record only."""
    words = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": WIDE}
    lines = [
        line(span(traceId=trace, spanId=f"{number:016x}", startTimeUnixNano=START + at, attributes=words))
        for at, trace in enumerate(TRACES)
        for number in range(1, at + 2)
    ]
    path = folder / "all.jsonl"
    record = {"traceId": "f" * 32, "spanId": "f" * 16, "body": {"stringValue": "alone"}}
    logs = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).encode()
    path.write_bytes(b"".join([*lines, logs, b"\n"]))
    return path


def rows(home: Path) -> list[TraceRow]:
    with Library.open(home) as library:
        reader = library.reader()
        assert reader.resolve_trace("f" * 8) == "f" * 32
        return reader.traces()


def test_the_list_is_the_same_from_texts_from_tables_and_from_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "_AT_ONCE", 2)
    home, path = tmp_path / "library", file_of(tmp_path)
    with Library.open(home) as library:
        library.load([path])
    with Store.memory() as store:
        store.load([path])
        listed = store.traces()
    assert listed[0].input_tokens == 5 * WIDE
    assert rows(home) == listed
    with monkeypatch.context() as other:
        other.setattr(packed, "trace_rows", lambda rows: pytest.fail("the texts were not read"))
        assert rows(home) == listed
        other.undo()
        other.setattr(packed, "_FORM", "the fields of another version")
        other.setattr(packed, "_TRACES", None)
        assert rows(home) == listed
    (segment,) = (home / "segments").iterdir()
    with duckdb.connect(str(segment)) as opened:
        assert opened.execute("select count(*) from packed").fetchall() == [(4,)]
        opened.execute("drop table packed")
    assert rows(home) == listed


def test_a_damaged_list_is_read_from_the_tables(tmp_path: Path) -> None:
    home = tmp_path / "library"
    with Library.open(home) as library:
        library.load([file_of(tmp_path)])
    listed = rows(home)
    (segment,) = (home / "segments").iterdir()
    with connect(str(segment)) as opened:

        def ask(name: str, values: dict[str, Any] | None) -> list[tuple[Any, ...]]:
            return opened.execute(sql_text(name), values).fetchall()

        opened.execute("create table whole as from packed")
        for damage in DAMAGE:
            opened.execute(damage)
            assert packed.read_ids(ask) == {*TRACES, "f" * 32}, damage
            assert packed.read_traces(ask) == listed, damage
            opened.execute("drop table if exists packed; create table packed as from whole")


def test_a_span_is_whole_also_when_its_context_has_just_got_another_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Library.open(tmp_path / "library") as library:
        library.load([file_of(tmp_path)])
        reader = library.reader()
        whole = reader.span(TRACES[0], f"{1:016x}")
        monkeypatch.setattr(reader, "_context", lambda trace_id, context_id: ())
        assert reader.span(TRACES[0], f"{1:016x}") == whole == reader.whole_spans(TRACES[0])
    assert whole[0].scope_name == "tests"
