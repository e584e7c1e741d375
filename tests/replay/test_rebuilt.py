"""Agents rebuilt from traces: every handed producer call by call, and traces that are hard to follow."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from debugger.errors import ReplayError
from debugger.replay.reconstruct.build import Rebuilt, rebuild
from debugger.replay.reconstruct.run import rebuilt_agent
from debugger.replay.reconstruct.script import script_to_json
from debugger.replay.recording import Recording
from debugger.store import Store
from runtime.agents import Run
from runtime.agents._run import journals_of
from runtime.errors import ReplayedError, ReplayStop
from runtime.journal import STRICT, ReplaySession
from runtime.messages import (
    Call,
    ErrorInfo,
    Json,
    Message,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    json_safe,
)
from runtime.trace import ModelTurnStart

from .check_zoo import files_in, truth_of, wanted_output

ZOO = Path(__file__).parents[1] / "data" / "zoo"
PRODUCERS = Path(__file__).parents[1] / "data" / "producers"
SAMPLES = Path(__file__).parents[2] / "sample_traces"
OWN = ("travel_desk", "research_team", "order_watch", "refund_desk")


class Played(NamedTuple):
    """A strict replay in this process."""

    output: Json
    error: tuple[str, str] | None
    session: ReplaySession
    run: Run

    @property
    def statuses(self) -> list[str]:
        return [row.status for row in self.session.rows]

    @property
    def requests(self) -> list[str]:
        """The content hashes of all model turns, in order of their starts."""
        return [e.content_hash or "" for e in self.run.events if isinstance(e, ModelTurnStart)]


def play(rebuilt: Rebuilt, recording: Recording | None = None) -> Played:
    whole = (recording or rebuilt.recording).whole
    session = ReplaySession(journals_of(whole), policy=STRICT)
    run = Run(session=session, snapshot=whole, memory_from="start", enable_snapshot=True)
    job = {"script": script_to_json(rebuilt.script), "keep_inputs": True}
    try:
        output = json_safe(asyncio.run(asyncio.wait_for(run.execute(rebuilt_agent(job)), 120)))[0]
    except ReplayStop:
        return Played(None, None, session, run)
    except ReplayedError as error:
        return Played(None, (error.type_name, error.message), session, run)
    return Played(output, None, session, run)


def recordings(files: Sequence[Path]) -> list[Recording]:
    with Store.memory() as store:
        store.load(files)
        return [Recording(t.trace_id, store.calls(t.trace_id), files) for t in reversed(store.traces())]


def of_calls(*calls: Call) -> Recording:
    return Recording("0" * 32, calls, [])


# Every producer ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("files", files_in([ZOO]), ids=lambda files: files[0].name)
def test_every_trace_of_the_zoo_comes_out_as_recorded(files):
    truth = truth_of(files[0])
    replayed = 0
    for recording in recordings(files):
        llms = [call for call in recording.calls if call.kind == "llm"]
        if not llms:
            with pytest.raises(ReplayError, match="no model call"):
                rebuild(recording)
            continue
        rebuilt = rebuild(recording)
        played = play(rebuilt)
        assert set(played.statuses) == {"hit"}
        assert sorted(played.requests) == sorted(call.request().content_hash for call in llms)
        assert played.error == rebuilt.end.error
        assert played.output == rebuilt.end.output
        wanted = wanted_output(recording.calls, truth)
        assert wanted is None or played.output.strip() == wanted.strip()
        replayed += len(llms)
        # Nothing of these is taken over as recorded that a run could derive, but the retrieval of one tool.
        assert [note for note in rebuilt.notes if "retrieval" not in note] == []
    assert replayed == sum("on_span" in call for call in truth["llm_calls"])


@pytest.mark.parametrize("files", files_in([PRODUCERS]), ids=lambda files: files[0].name)
def test_every_trace_of_other_producers_comes_out_as_recorded(files):
    truth = truth_of(files[0])
    replayed = 0
    for recording in recordings(files):
        llms = [call for call in recording.calls if call.kind == "llm"]
        if all(call.input_messages is None for call in llms):
            with pytest.raises(ReplayError, match=r"not recorded|no model call"):
                rebuild(recording)
            continue
        rebuilt = rebuild(recording)
        played = play(rebuilt)
        assert set(played.statuses) == {"hit"}
        assert played.error == rebuilt.end.error
        assert played.output == rebuilt.end.output
        wanted = wanted_output(recording.calls, truth)
        assert wanted is None or played.output.strip() == wanted.strip()
        replayed += len(llms)
    assert replayed == truth["replayed_llm_calls"]


@pytest.mark.parametrize("name", OWN)
def test_our_own_agents_are_rebuilt_too(name):
    (recording,) = recordings([SAMPLES / f"{name}.otlp.jsonl"])
    rebuilt = rebuild(recording)
    played = play(rebuilt)
    asked = sum(call.kind == "llm" for call in recording.calls)
    assert set(played.statuses) == {"hit"}
    assert sum(row.kind == "llm" for row in played.session.rows) == asked
    assert (played.output, played.error) == (rebuilt.end.output, rebuilt.end.error)


def test_without_the_messages_it_says_what_is_missing():
    (first, *_) = recordings([ZOO / "openai_v2_latest_event.otlp.jsonl.gz"])
    with pytest.raises(ReplayError, match="the messages of the 6 model calls of this trace were not recorded"):
        rebuild(first)


# A loop, not a tape --------------------------------------------------------------------------------------


def test_a_changed_tool_result_changes_the_next_request_and_nothing_before():
    (first, *_) = recordings([ZOO / "genai_langchain.otlp.jsonl"])
    changed = [
        replace(call, result={"city": "Lyon", "temp_c": 30}) if call.tool_name == "get_weather" else call
        for call in first.calls
    ]
    played = play(rebuild(first), of_calls(*(replace(call, trace_id="0" * 32) for call in changed)))
    assert played.statuses == ["hit", "hit", "hit", "missed"]
    found = played.session.divergence.differences[0]
    assert found.path == "messages[3].parts[0].response.temp_c" or '"temp_c": 30' in str(found.actual)
    assert "14" in str(found.recorded)


def test_a_changed_answer_of_a_sub_agent_changes_what_the_agent_above_is_told():
    (first, *_) = recordings([ZOO / "openllmetry_legacy.otlp.jsonl.gz"])
    last = [call for call in first.calls if call.kind == "llm" and call.model == "gpt-4.1-nano"][-1]
    other = (Message("assistant", (TextPart("Walk: nowhere."),)),)
    changed = [replace(call, output_messages=other) if call is last else call for call in first.calls]
    played = play(rebuild(first), Recording(first.trace_id, changed, []))
    assert played.statuses[-1] == "missed"
    assert played.session.divergence.differences[0].actual == "Walk: nowhere."


# Traces that are hard to follow --------------------------------------------------------------------------


def said(text: str) -> tuple[Message, ...]:
    return (Message("assistant", (TextPart(text),)),)


def user(text: str) -> Message:
    return Message("user", (TextPart(text),))


def calling(*calls: tuple[str | None, str, dict[str, Any]]) -> tuple[Message, ...]:
    return (Message("assistant", tuple(ToolCallPart(*each) for each in calls)),)


def result(id_: str | None, response: Json) -> Message:
    return Message("tool", (ToolCallResponsePart(id_, response),))


def call_at(kind: str, number: int, start: int, end: int | None, **fields: Any) -> Call:
    given = {"trace_id": "0" * 32, "parent_span_id": None, "name": kind, "convention": "genai", **fields}
    return Call(span_id=f"{number:016x}", kind=kind, start_unix_nano=start, end_unix_nano=end, **given)


def llm(number: int, start: int, end: int | None, asked: Sequence[Message], answer: Any, **fields: Any) -> Call:
    given = {"model": "m", "input_messages": tuple(asked), "output_messages": answer, **fields}
    return call_at("llm", number, start, end, **given)


def failed(kind: str, text: str) -> dict[str, ErrorInfo]:
    return {"error": ErrorInfo(kind, text)}


def check_same(*calls: Call, notes: int = 0) -> tuple[Rebuilt, Played]:
    rebuilt = rebuild(of_calls(*calls))
    played = play(rebuilt)
    assert set(played.statuses) == {"hit"}
    assert len(played.requests) == sum(call.kind == "llm" and call.input_messages is not None for call in calls)
    assert (played.output, played.error) == (rebuilt.end.output, rebuilt.end.error)
    assert len(rebuilt.notes) == notes, rebuilt.notes
    return rebuilt, played


def test_results_that_only_the_next_request_shows_answer_the_tools():
    asked = [user("What?")]
    answer = calling(("a", "look", {"at": "x"}), ("b", "look", {"at": "y"}))
    then = [*asked, *answer, result("a", "1"), result("b", "2")]
    calls = (llm(1, 0, 5, asked, answer), llm(2, 6, 9, then, said("done")))
    rebuilt, played = check_same(*calls, notes=1)
    assert "2 tool results taken from the next request" in rebuilt.notes[0]
    assert [row.kind for row in played.session.rows] == ["llm", "tool", "tool", "llm"]
    assert set(rebuilt.shown_by.values()) == {calls[1].span_id}


def lost(number: int, start: int, end: int, asked: Sequence[Message]) -> Call:
    """A model call whose answer was streamed past its span."""
    return replace(llm(number, start, end, asked, None), output_messages=None, lost="the answer was not recorded")


def test_an_answer_that_no_span_holds_is_the_one_that_the_next_request_shows():
    first = [user("weather?")]
    # Some producers write text and tool calls of one answer as two messages.
    asked = [*first, *said("Let me look."), *calling(("c1", "look", {"at": "Lyon"})), result("c1", "rain")]
    rebuilt, played = check_same(
        lost(1, 0, 10, first),
        llm(2, 20, 30, asked, said("Rain.")),
        notes=3,
    )
    assert rebuilt.notes[1] == "1 answer taken from the next request or the agent's result, since no span holds it"
    assert [(call.kind, call.status) for call in played.session.rows] == [
        ("llm", "hit"),
        ("tool", "hit"),
        ("llm", "hit"),
    ]


def test_the_last_answer_is_what_the_agent_gave_back_and_else_not_known():
    agent = call_at("agent", 9, 0, 100, agent_name="a", result="Rain.", has_result=True)
    inside = replace(lost(1, 10, 20, [user("weather?")]), parent_span_id=agent.span_id)
    check_same(agent, inside, notes=1)
    ends = rebuild(of_calls(replace(agent, has_result=False, result=None), inside)).end
    before = llm(2, 1, 5, [user("hello")], said("Hello."))
    assert (ends.is_known, rebuild(of_calls(before, lost(3, 6, 9, [user("and?")]))).end.is_known) == (False, False)


def test_calls_without_ids_are_answered_in_order():
    asked = [user("What?")]
    answer = calling((None, "look", {"at": "x"}), (None, "look", {"at": "y"}))
    then = [*asked, *answer, result(None, "1"), result(None, "2")]
    tools = [
        call_at("tool", 3 + i, 5, 6, tool_name="look", arguments={"at": at}, result=f"{i + 1}", has_result=True)
        for i, at in enumerate("xy")
    ]
    check_same(llm(1, 0, 5, asked, answer), *tools, llm(2, 6, 9, then, said("done")))


def test_the_same_id_in_every_answer_is_no_confusion():
    asked, calls = [user("What?")], []
    for n in range(3):
        answer = calling(("call_1", "look", {"at": n}))
        calls.append(llm(2 * n, 10 * n, 10 * n + 1, asked, answer))
        fields = {"tool_name": "look", "tool_call_id": "call_1", "arguments": {"at": n}, "result": n * 7}
        calls.append(call_at("tool", 2 * n + 1, 10 * n + 2, 10 * n + 3, has_result=True, **fields))
        asked = [*asked, *answer, result("call_1", n * 7)]
    check_same(*calls, llm(9, 90, 91, asked, said("done")))


def test_a_history_that_was_cut_and_a_rewritten_system_text_are_given_as_recorded():
    first = [Message("system", (TextPart("One."),)), user("A?")]
    second = [Message("system", (TextPart("Two."),)), user("A?"), *said("a"), user("B?")]
    third = [Message("system", (TextPart("Two."),)), *said("b"), user("C?")]
    answers = [said("a"), said("b"), said("c")]
    calls = [llm(i, 10 * i, 10 * i + 5, asked, answers[i]) for i, asked in enumerate((first, second, third))]
    rebuilt, _ = check_same(*calls, notes=2)
    assert rebuilt.notes[0] == "2 later messages of the user given as recorded"


def test_a_retry_after_a_failure_is_made_again():
    asked = [user("What?")]
    slow = failed("TimeoutError", "too slow")
    check_same(llm(1, 0, 5, asked, None, **slow), llm(2, 6, 9, asked, said("done")))


def test_the_last_failure_is_the_end():
    asked = [user("What?")]
    _, played = check_same(llm(1, 0, 5, asked, said("a")), llm(2, 6, 9, [*asked], None, **failed("Oops", "no")))
    assert played.error == ("Oops", "no")


def test_an_agent_that_failed_after_its_last_call_fails_so_again():
    agent = call_at("agent", 1, 0, 20, agent_name="desk", **failed("ValueError", "not what I wanted"))
    _, played = check_same(agent, llm(2, 1, 5, [user("What?")], said("a"), parent_span_id=agent.span_id))
    assert played.error == ("ValueError", "not what I wanted")


def test_a_failed_sub_agent_that_was_survived_is_survived_again():
    outer = call_at("agent", 1, 0, 30, agent_name="desk")
    inner = call_at("agent", 2, 1, 9, agent_name="writer", parent_span_id=outer.span_id, **failed("Oops", "no"))
    failing = llm(3, 2, 5, [user("Write")], None, parent_span_id=inner.span_id, **failed("Oops", "no"))
    check_same(outer, inner, failing, llm(4, 10, 15, [user("What?")], said("a"), parent_span_id=outer.span_id))


def test_a_tool_that_failed_out_of_its_agent_ends_it_again():
    agent = call_at("agent", 1, 0, 20, agent_name="desk", **failed("ToolBroke", "pipe"))
    asked = llm(2, 1, 5, [user("What?")], calling(("a", "look", {})), parent_span_id=agent.span_id)
    fields = {"tool_name": "look", "tool_call_id": "a", "arguments": {}, "parent_span_id": agent.span_id}
    _, played = check_same(agent, asked, call_at("tool", 3, 6, 9, **fields, **failed("ToolBroke", "pipe")))
    assert played.error == ("ToolBroke", "pipe")


@pytest.mark.parametrize("with_agents", [False, True])
def test_conversations_that_overlap_are_kept_apart(with_agents):
    """Two loops of three turns, woven into each other in time, without and with agents around them."""
    calls: list[Call] = []
    for which in (0, 1):
        agent = call_at("agent", 100 + which, which, 100, agent_name=f"a{which}", has_result=True, result="end")
        parent = agent.span_id if with_agents else None
        calls.extend([agent] if with_agents else [])
        asked = [user(f"Start {which}")]
        for n in range(3):
            start = 30 * n + 5 * which + 2
            answer = said("end") if n == 2 else calling((None, "look", {"at": n}))
            calls.append(llm(10 * which + n, start, start + 12, asked, answer, parent_span_id=parent))
            if n < 2:
                fields = {"tool_name": "look", "arguments": {"at": n}, "result": [which, n], "has_result": True}
                calls.append(
                    call_at("tool", 50 + 10 * which + n, start + 13, start + 20, parent_span_id=parent, **fields)
                )
                asked = [*asked, *answer, result(None, [which, n])]
    ordered = sorted(calls, key=lambda call: call.start_unix_nano or 0)
    check_same(*ordered)


def test_a_clock_that_runs_backwards_does_not_lock_it_up():
    agent = call_at("agent", 1, 0, 5, agent_name="desk")
    tool_asked = llm(3, 50, 60, [user("What?")], calling(("a", "look", {})), parent_span_id=agent.span_id)
    tool = call_at("tool", 2, 10, 20, tool_name="look", tool_call_id="a", arguments={}, result=1, has_result=True)
    then = [user("What?"), *calling(("a", "look", {})), result("a", 1)]
    rebuilt = rebuild(of_calls(agent, tool, tool_asked, llm(4, 61, 70, then, said("x"), parent_span_id=agent.span_id)))
    assert set(play(rebuilt).statuses) == {"hit"}


def test_a_model_call_without_messages_is_left_out_and_said():
    known = llm(1, 0, 5, [user("What?")], said("a"))
    unknown = llm(2, 1, 2, (), None, lost="the answer was not recorded")
    rebuilt, played = check_same(known, replace(unknown, input_messages=None), notes=1)
    assert rebuilt.lacks_content
    assert played.output == "a"


def test_a_trace_that_stops_in_the_middle_has_no_output_to_compare():
    agent = call_at("agent", 1, 0, None, agent_name="desk")
    rebuilt = rebuild(of_calls(agent, llm(2, 1, 5, [user("What?")], said("a"), parent_span_id=agent.span_id)))
    assert not rebuilt.end.is_known
    assert set(play(rebuilt).statuses) == {"hit"}
