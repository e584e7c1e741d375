"""Real traces of real producers against what really happened."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from debugger.cli import main
from debugger.store import Store
from runtime.messages import Call, TextPart, ToolCallPart, ToolCallResponsePart

OURS = Path(__file__).parents[1] / "data" / "zoo"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "zoo"


def truth_of(path: Path) -> dict[str, Any]:
    stem = path.name.split(".")[0]
    return dict(json.loads((path.parent / f"{stem}.expected.json").read_text()))


def traces() -> list[Path]:
    """Every trace file with a truth file beside it; the shared folder is not everywhere."""
    names = ("*.otlp.jsonl", "*.otlp.jsonl.gz", "*.otlp.json")
    folders = [OURS, *([SHARED] if SHARED.is_dir() else [])]
    return sorted(path for folder in folders for name in names for path in folder.glob(name))


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.memory() as fresh:
        yield fresh


@pytest.mark.parametrize("path", traces(), ids=lambda path: f"{path.parent.parent.name}-{path.name}")
def test_structure(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = truth_of(path)
    assert main(["list", str(path), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert len(listed) == truth["trace_count"]
    assert sum(trace["spans"] for trace in listed) == truth["span_count"]
    assert {trace["service"] for trace in listed} == set(truth["service_names"])
    assert sorted(trace["name"] for trace in listed) == sorted(truth["root_span_names"])
    assert main(["show", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [trace["trace_id"] for trace in shown["traces"]] == [trace["trace_id"] for trace in listed]
    assert [len(trace["calls"]) for trace in shown["traces"]] == [trace["spans"] for trace in listed]
    assert shown["issues"] == []


GENAI = ["genai_langchain.otlp.jsonl", "genai_openai_latest_span.otlp.jsonl.gz"]


def all_calls(store: Store, kind: str) -> list[Call]:
    calls = [call for trace in store.traces() for call in store.calls(trace.trace_id) if call.kind == kind]
    return sorted(calls, key=lambda call: (call.start_unix_nano or 0, call.span_id))


def text(call: Call, *roles: str) -> list[str]:
    messages = [m for m in call.input_messages or () if m.role in roles]
    return [part.content for m in messages for part in m.parts if isinstance(part, TextPart)]


@pytest.mark.parametrize("name", GENAI)
def test_every_model_call_of_the_genai_conventions(store: Store, name: str) -> None:
    store.load([OURS / name])
    truth = truth_of(OURS / name)
    calls = all_calls(store, "llm")
    wanted = [call for call in truth["llm_calls"] if "on_span" in call]
    assert len(calls) == len(wanted)
    for call, want in zip(calls, wanted, strict=True):
        assert (call.model, call.provider, call.convention) == (want["request_model"], want["provider"], "genai")
        assert call.usage.input_tokens == (want["input_tokens"] if "input_tokens" in want["on_span"] else None)
        assert call.usage.output_tokens == (want["output_tokens"] if "output_tokens" in want["on_span"] else None)
        assert want["system_text"] in "\n".join(text(call, "system"))
        assert text(call, "user")[-1] == want["last_user_text"]
        assert bool(call.error) == ("error" in want)
        out = [part for m in call.output_messages or () for part in m.parts]
        if "output_text" in want["on_span"]:
            assert "".join(p.content for p in out if isinstance(p, TextPart)) == (want["output_text"] or "")
        asked = [(p.id, p.name, p.arguments) for p in out if isinstance(p, ToolCallPart)]
        assert asked == [(t["id"], t["name"], t["arguments"]) for t in want.get("output_tool_calls", ())]


@pytest.mark.parametrize("name", GENAI)
def test_every_tool_call_of_the_genai_conventions(store: Store, name: str) -> None:
    store.load([OURS / name])
    left = all_calls(store, "tool")
    for want in (tool for tool in truth_of(OURS / name)["tool_calls"] if "on_span" in tool):
        call = next(c for c in left if c.tool_name == want["name"])
        left.remove(call)
        assert call.arguments == want["arguments"]
        if want["error"]:
            assert call.error is not None
        else:
            assert (call.result, call.has_result, call.error) == (want["result"], True, None)
    assert left == []


@pytest.mark.parametrize("name", GENAI)
def test_tool_results_are_tied_to_their_calls(store: Store, name: str) -> None:
    store.load([OURS / name])
    answered = 0
    for call in all_calls(store, "llm"):
        parts = [part for m in call.input_messages or () for part in m.parts]
        asked = {part.id for part in parts if isinstance(part, ToolCallPart)}
        results = {part.id for part in parts if isinstance(part, ToolCallResponsePart)}
        assert results <= asked
        answered += len(results)
    assert answered > 0
