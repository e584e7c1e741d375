"""Every cut that cannot be restored says why, and names cuts that can."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.errors import RuntimeFault
from runtime.snapshot import (
    Cut,
    EmptyTraceError,
    NoFrameError,
    NothingBeforeError,
    PositionError,
    RestoreError,
    SeveralTracesError,
    SpanNotEndedError,
    SpanNotStartedError,
    UnknownSpanError,
    UnknownTraceError,
    restore_every,
    restore_snapshot,
)

from .script import Script


def trace() -> Script:
    """Positions: run 0, a 1, open 2, m (end only) 3, a's end 4, run's end 5."""
    return Script().run().agent("a", "run").span("open", "a").turn("m", "a", "h").end("a").run_end()


@pytest.mark.parametrize(
    ("options", "kind", "nearest"),
    [
        ({"span_id": "nope"}, UnknownSpanError, [("run", "after")]),
        ({"span_id": "nope", "anchor": "before"}, UnknownSpanError, [("run", "after")]),
        ({"span_id": "open"}, SpanNotEndedError, [("open", "before"), ("m", "after")]),
        ({"span_id": "m", "anchor": "before"}, SpanNotStartedError, [("m", "after"), ("a", "after")]),
        ({"span_id": "run", "anchor": "before"}, NothingBeforeError, [("open", "before")]),
        ({"span_id": "a", "anchor": "before"}, NoFrameError, [("open", "before")]),
        ({"position": 0}, NoFrameError, [("open", "before")]),
        ({"position": 6}, PositionError, [("run", "after")]),
        ({"position": -1}, PositionError, [("open", "before")]),
        ({"trace_id": "t9"}, UnknownTraceError, []),
    ],
)
def test_a_cut_that_cannot_be_restored(options: dict[str, Any], kind: type, nearest: list[tuple[str, str]]) -> None:
    with pytest.raises(RestoreError) as caught:
        restore_snapshot(trace(), **options)
    assert type(caught.value) is kind
    assert list(caught.value.nearest) == nearest
    for cut in caught.value.nearest:
        restore_snapshot(trace(), *cut)
        assert cut.span_id in caught.value.hint


def test_an_empty_trace() -> None:
    with pytest.raises(EmptyTraceError, match="empty"):
        restore_snapshot([])


def test_several_traces_are_listed() -> None:
    with pytest.raises(SeveralTracesError, match="'t1', 't2'") as caught:
        restore_snapshot([*Script("t1").agent("a"), *Script("t2").agent("a")])
    assert caught.value.trace_ids == ("t1", "t2")
    assert "trace_id" in caught.value.hint


def test_no_cut_works_where_no_agent_ever_started() -> None:
    with pytest.raises(NoFrameError) as caught:
        restore_snapshot(Script().run().span("s", "run").run_end())
    assert caught.value.nearest == ()


def test_an_unknown_span_in_a_trace_with_a_late_first_agent_names_a_working_cut() -> None:
    script = Script().run().span("s", "run").span_end("s").agent("a", "run").end("a")
    with pytest.raises(UnknownSpanError) as caught:
        restore_snapshot(script, "nope")
    assert caught.value.nearest == (Cut("a", "after"),)


def test_every_cut_reports_its_error_in_its_place() -> None:
    found = [(span, anchor, type(result).__name__) for span, anchor, result in restore_every(trace())]
    assert found == [
        ("run", "before", "NothingBeforeError"),
        ("a", "before", "NoFrameError"),
        ("open", "before", "Snapshot"),
        ("open", "after", "SpanNotEndedError"),
        ("m", "before", "SpanNotStartedError"),
        ("m", "after", "Snapshot"),
        ("a", "after", "Snapshot"),
        ("run", "after", "Snapshot"),
    ]


def test_errors_are_one_tree_with_a_json_form_and_no_raw_control_characters() -> None:
    error = UnknownSpanError("\x1b[2J" + "x" * 500, (Cut("a", "after"),))
    assert isinstance(error, RuntimeFault)
    assert "\x1b" not in str(error)
    assert len(str(error)) < 200
    assert error.to_json() == {
        "type": "UnknownSpanError",
        "message": str(error),
        "nearest": [{"span_id": "a", "anchor": "after"}],
    }
