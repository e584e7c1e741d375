"""Any split of traces over segments, in any order, with compactions in between, reads as one store of it all."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

import debugger.store.library._compact as compaction
from debugger.store import Library, Store

from .otlp import START, request, span

_TRACES = [f"{number:032x}" for number in (1, 2)]
_SPANS = [f"{number:016x}" for number in (1, 2, 3)]
_KINDS: list[dict[str, Any]] = [
    {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3},
    {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"},
    {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": 3},
    {},
]


def _line(scope: str, **fields: Any) -> bytes:
    whole = request(span(**fields))
    whole["resourceSpans"][0]["scopeSpans"][0]["scope"]["name"] = scope
    return json.dumps(whole).encode() + b"\n"


def _log(trace: str, own: str, text: str) -> bytes:
    record = {"traceId": trace, "spanId": own, "timeUnixNano": START, "body": {"stringValue": text}}
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).encode() + b"\n"


_spans = st.builds(
    lambda trace, own, parent, kind, scope, start, took: _line(
        scope,
        traceId=trace,
        spanId=own,
        parentSpanId=parent if parent != own else "",
        startTimeUnixNano=START + start,
        endTimeUnixNano=START + start + took if took else 0,
        attributes=kind,
    ),
    st.sampled_from(_TRACES),
    st.sampled_from(_SPANS),
    st.sampled_from(["", *_SPANS]),
    st.sampled_from(_KINDS),
    st.sampled_from(["one", "two"]),
    st.integers(0, 2),
    st.integers(0, 3),
)
_logs = st.builds(_log, st.sampled_from(_TRACES), st.sampled_from(_SPANS), st.sampled_from(["x", "y"]))
_loads = st.lists(st.lists(st.one_of(_spans, _spans, _logs), min_size=1, max_size=4), min_size=1, max_size=5)


def _said(store: Store) -> Any:
    """All that a store says, but for the numbers that it gives its rows."""
    traces = store.traces()
    return (
        traces,
        [[structs.replace(row, seq=0) for row in store.spans(trace.trace_id)] for trace in traces],
        [store.whole_spans(trace.trace_id) for trace in traces],
        [store.logs(trace.trace_id) for trace in traces],
        [store.calls(trace.trace_id) for trace in traces],
        {issue.reason for issue in store.issues()},
    )


@settings(max_examples=4)
@given(loads=_loads, compacts=st.booleans())
def test_a_split_over_segments_reads_as_one_store(loads: list[list[bytes]], compacts: bool) -> None:
    most, fewest = compaction.MOST, compaction.FEWEST
    compaction.MOST, compaction.FEWEST = (2, 1) if compacts else (most, fewest)
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            Library.open(Path(folder, "library")) as library,
            Store.memory() as store,
        ):
            paths = []
            reader = library.reader()
            for number, lines in enumerate(loads):
                path = Path(folder, f"{number}.jsonl")
                path.write_bytes(b"".join(lines))
                paths.append(path)
                library.load([path])
                store.load([path])
                reader.traces()
            assert _said(reader) == _said(store)
            with Store.memory() as at_once:
                at_once.load(paths)
                assert _said(reader)[:3] == _said(at_once)[:3]
            before = _said(reader)
            paths[0].unlink()
            library.rebuild()
            assert _said(reader) == before
    finally:
        compaction.MOST, compaction.FEWEST = most, fewest
