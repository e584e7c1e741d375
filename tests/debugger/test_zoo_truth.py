"""Every producer of the zoo: what the calls say against what the provider and the tools really saw.

The truth files come from the logs of a fake provider and of the tools. A fact is asserted where the file says that the
span holds it (``on_span``), or its log records do (``in_logs``).
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from debugger.store import Store
from runtime.messages import Call, TextPart, ToolCallPart, ToolCallResponsePart

FOLDERS = [Path(__file__).parents[1] / "data" / name for name in ("zoo", "producers")]
FILES = sorted(path for folder in FOLDERS for path in folder.glob("*.*.*") if ".otlp." in path.name)
FILES += sorted(FOLDERS[0].glob("*.console.json.gz"))


def truth_of(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.with_name(f"{path.name.split('.')[0]}.expected.json").read_text("utf-8")))


def logs_of(path: Path) -> Path:
    return path.with_name(path.name.replace(".otlp.", ".logs."))


WITH_LOGS = [path for path in FILES if logs_of(path) != path and logs_of(path).exists()]


class Loaded(NamedTuple):
    truth: dict[str, Any]
    calls: list[Call]
    store: Store


def load(store: Store, *paths: Path) -> Loaded:
    assert store.load(paths).issues == ()
    calls = [call for trace in store.traces() for call in store.calls(trace.trace_id)]
    calls.sort(key=lambda call: (call.start_unix_nano or 0, call.span_id))
    return Loaded(truth_of(paths[-1]), calls, store)


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.name)
def loaded(request: pytest.FixtureRequest) -> Iterator[Loaded]:
    """Of the module, so that pytest puts the tests of one file together and it is read once."""
    with Store.memory() as store:
        yield load(store, request.param)


def texts(call: Call, *but: str) -> list[str]:
    messages = [m for m in call.input_messages or () if m.role not in but]
    return [part.content for m in messages for part in m.parts if isinstance(part, TextPart)]


def data(value: Any) -> Any:
    """JSON or Python text as its value, so that producers may write either."""
    for read in (json.loads, ast.literal_eval):
        if isinstance(value, str):
            try:
                value = read(value)
            except (ValueError, SyntaxError):
                continue
    if isinstance(value, dict) and set(value) == {"result"}:  # Google ADK wraps what is no object
        return data(value["result"])
    return value


def check_model_call(call: Call, want: dict[str, Any], facts: list[str]) -> None:
    out = [part for message in call.output_messages or () for part in message.parts]
    if "model" in facts:
        models = (want["request_model"], want["response_model"])
        assert (call.model or "").rpartition("/")[2] in models
    if "provider" in facts:
        assert call.provider == want["provider"]
    if "system" in facts:
        assert any(want["system_text"] in text for text in texts(call, "user", "assistant", "tool"))
    if "last_user_text" in facts:
        assert sum(want["last_user_text"] in text for text in texts(call, "system", "assistant")) == 1
    if "output_text" in facts:
        said = "".join(part.content for part in out if isinstance(part, TextPart))
        assert said.strip() == (want["output_text"] or "").strip()
    if "output_tool_calls" in facts:
        asked = [(part.id, part.name, part.arguments) for part in out if isinstance(part, ToolCallPart)]
        assert asked == [(t["id"], t["name"], t["arguments"]) for t in want["output_tool_calls"]]
    for key in ("input_tokens", "output_tokens"):
        if key in facts:
            assert getattr(call.usage, key) == want[key]
    if "tool_results" in facts:
        parts = [part for message in call.input_messages or () for part in message.parts]
        asked_ids = {part.id for part in parts if isinstance(part, ToolCallPart)}
        told = {part.id for part in parts if isinstance(part, ToolCallResponsePart)}
        assert asked_ids == told
    assert bool(call.error) == bool(want.get("error"))


def check_model_calls(loaded: Loaded, *sources: str) -> None:
    wanted = [call for call in loaded.truth["llm_calls"] if "on_span" in call]
    found = [call for call in loaded.calls if call.kind == "llm"]
    assert len(found) == len(wanted)
    for call, want in zip(found, wanted, strict=True):
        check_model_call(call, want, [fact for source in sources for fact in want.get(source, [])])
    rows = loaded.store.traces()
    assert sum(row.llm_calls for row in rows) == len(wanted)
    counted = [call for call in loaded.calls if call.kind in ("llm", "embedding")]
    for key in ("input_tokens", "output_tokens"):
        assert sum(getattr(row, key) or 0 for row in rows) == sum(getattr(call.usage, key) or 0 for call in counted)


def test_model_calls(loaded: Loaded) -> None:
    check_model_calls(loaded, "on_span")


@pytest.mark.parametrize("path", WITH_LOGS, ids=lambda path: path.name)
def test_model_calls_with_their_log_records(path: Path) -> None:
    with Store.memory() as store:
        check_model_calls(load(store, logs_of(path), path), "on_span", "in_logs")


def test_tool_calls(loaded: Loaded) -> None:
    left = [call for call in loaded.calls if call.kind == "tool"]
    assert sum(row.tool_calls for row in loaded.store.traces()) == len(left)
    for want in (tool for tool in loaded.truth["tool_calls"] if "on_span" in tool):
        call = next(call for call in left if call.tool_name == want["name"])
        left.remove(call)
        if "arguments" in want["on_span"]:
            assert call.arguments == want["arguments"]
        if "result" in want["on_span"]:
            assert data(call.result) == want["result"]
        if "error" in want["on_span"] or not want["error"]:
            assert bool(call.error) == bool(want["error"])
        if "error_text" in want["on_span"]:
            words = want["error"].split(": ", 1)[-1]
            assert words in f"{call.error and call.error.message} {json.dumps(call.result, ensure_ascii=False)}"
    framework = {tool["name"] for tool in loaded.truth.get("framework_tool_calls", ())}
    assert {call.tool_name for call in left} <= framework, "no tool call is invented"


def test_agents_and_sessions(loaded: Loaded) -> None:
    truth, calls, store = loaded
    agents = [call for call in calls if call.kind == "agent"]
    names = Counter((call.agent_name or "").split(".")[0] for call in agents)
    assert names == Counter(truth["human_count"].get("agent_names", names))
    assert sum(row.agents for row in store.traces()) == len(agents)
    if truth.get("session_id_seen_in_file"):
        assert truth["session_id"] in {call.conversation_id for call in calls}


def test_columns_and_calls_agree(loaded: Loaded) -> None:
    store = loaded.store
    for trace in store.traces():
        rows = {row.span_id: row for row in store.spans(trace.trace_id)}
        for call in store.calls(trace.trace_id):
            row = rows[call.span_id]
            told = (row.kind, row.convention, row.agent_name, row.provider, row.model, row.tool_name, row.input_tokens)
            assert told == (
                call.kind, call.convention, call.agent_name, call.provider, call.model, call.tool_name,
                call.usage.input_tokens,
            )  # fmt: skip
            assert store.call(trace.trace_id, call.span_id) == call
