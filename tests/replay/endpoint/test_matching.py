"""Which recorded call answers which request: shapes that differ, rules of the user, cuts, tools."""

from __future__ import annotations

import json

import pytest

from debugger.errors import ReplayError
from debugger.replay.endpoint import chat, messages, responses
from debugger.replay.endpoint.door import Door
from debugger.replay.endpoint.ignore import ignoring
from debugger.replay.endpoint.speaking import Answer, Fault
from debugger.replay.endpoint.trail import Trail
from debugger.replay.recording import Recording
from runtime.messages import (
    ErrorInfo,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    ToolDefinition,
)

from .doors import tape_for
from .recorded import TRACE, asks_for, call, recorded_chat, result, says, turn, user


def door_for(calls, *, rules=(), **job):
    recording = Recording(TRACE, calls, [])
    return Door(Trail(None, name="t", input={}), tape_for(recording, left_out=ignoring(rules), **job))


def ask(door, content, speaker=chat.SPEAKER, **more):
    body = {"model": "m", "messages": [{"role": "user", "content": content}], **more}
    return door.ask(speaker, body)


def text(found):
    assert isinstance(found, Answer), found
    return found.message.parts[0].content


def test_blocks_and_one_text_are_the_same_words():
    calls = [turn(1, (Message("system", (TextPart("Be nice."),)), user("one\ntwo")), says("yes"))]
    door = door_for(calls)
    blocks = [{"type": "text", "text": "one"}, {"type": "text", "text": "two", "cache_control": {"type": "ephemeral"}}]
    body = {
        "model": "m",
        "system": [{"type": "text", "text": "Be nice."}],
        "messages": [{"role": "user", "content": blocks}],
    }
    assert text(door.ask(messages.SPEAKER, body | {"max_tokens": 9})) == "yes"
    assert door.tape.session.inferred


def test_results_inside_a_users_message_are_results():
    look = asks_for(("c1", "look", {}), ("c2", "look", {"at": 2}))
    asked = (user("look"), look, result("c1", "blue"), result("c2", {"n": 1}))
    door = door_for([turn(1, asked, says("yes"))])
    uses = [
        {"type": "tool_use", "id": f"u{n}", "name": "look", "input": given} for n, given in ((1, {}), (2, {"at": 2}))
    ]
    results = [
        {"type": "tool_result", "tool_use_id": "u1", "content": "blue"},
        {"type": "tool_result", "tool_use_id": "u2", "content": [{"type": "text", "text": '{"n": 1}'}]},
    ]
    said = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, *uses]},
        {"role": "user", "content": results},
    ]
    assert text(door.ask(messages.SPEAKER, {"model": "m", "max_tokens": 9, "messages": said})) == "yes"
    # Answers that are swapped are another conversation.
    results[0]["tool_use_id"], results[1]["tool_use_id"] = "u2", "u1"
    found = door_for([turn(1, asked, says("yes"))]).ask(messages.SPEAKER, {"model": "m", "messages": said})
    assert isinstance(found, Fault)


def test_a_recording_without_ids_or_tools_answers():
    asked = (
        user("look"),
        Message("assistant", (ReasoningPart("hm"), ToolCallPart(None, "look", "{}"))),
        Message("tool", (ToolCallResponsePart(None, "blue"),)),
    )
    door = door_for([turn(1, asked, says("yes"), tool_definitions=None)])
    items = [
        {"role": "user", "content": "look"},
        {"type": "function_call", "call_id": "x", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "x", "output": "blue"},
    ]
    tools = [{"type": "function", "name": "look", "parameters": {"type": "object"}}, {"type": "web_search"}]
    assert text(door.ask(responses.SPEAKER, {"model": "m", "input": items, "tools": tools})) == "yes"


def test_another_tool_is_a_miss_that_names_it():
    offered = (ToolDefinition("look", "Look.", {"type": "object"}),)
    door = door_for([turn(1, (user("hi"),), says("yes"), tool_definitions=offered)])
    tools = [
        {"type": "function", "function": {"name": "look", "description": "Gaze.", "parameters": {"type": "object"}}}
    ]
    found = ask(door, "hi", tools=tools)
    assert isinstance(found, Fault)
    assert 'tools[look].description: recorded "Look.", now "Gaze."' in found.message


def test_only_the_answering_model_is_known():
    calls = [turn(1, (user("hi"),), says("yes"), model="m-2026-01-31", response_model="m-2026-01-31")]
    assert text(ask(door_for(calls), "hi")) == "yes"
    # A date that was asked for is part of the request.
    calls = [turn(1, (user("hi"),), says("yes"), model="m-2026-01-31", response_model="m-x")]
    assert isinstance(ask(door_for(calls), "hi"), Fault)


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        (("dates",), "Today is 2026-11-30, 10:15. Order 7f."),
        (("dates",), "Today is 30 November 2026, 3:05 PM. Order 7f."),
        (("/Today is [^.]*/",), "Today is whenever. Order 7f."),
        (("messages[0].parts[0].content",), "anything"),
        (("messages[*].parts",), "anything"),
        (("messages",), "anything"),
    ],
)
def test_what_the_user_declares_is_left_out(rules, asked):
    calls = [turn(1, (user("Today is 2025-01-02, 09:00. Order 7f."),), says("yes"))]
    assert isinstance(ask(door_for(calls), asked), Fault), "nothing is left out without a rule"
    calls = [turn(1, (user("Today is 2025-01-02, 09:00. Order 7f."),), says("yes"))]
    if "30 November" in asked:
        calls = [turn(1, (user("Today is 2 Jan 2025, 09:00. Order 7f."),), says("yes"))]
    door = door_for(calls, rules=rules)
    assert text(ask(door, asked)) == "yes"
    assert door.tape.session.inferred


def test_ids_are_left_out_and_the_rest_still_counts():
    recorded = "Run 8f14e45f-ceea-467f-9c1b-0d6f1c2a3b4c of job 9e107d9d372bb6826bd81d3542a419d6 is red."
    asked = "Run 00000000-ceea-467f-9c1b-0d6f1c2a3b4c of job 0e107d9d372bb6826bd81d3542a419d6 is red."
    assert text(ask(door_for([turn(1, (user(recorded),), says("yes"))], rules=("ids",)), asked)) == "yes"
    found = ask(door_for([turn(1, (user(recorded),), says("yes"))], rules=("ids",)), asked.replace("red", "green"))
    assert isinstance(found, Fault)
    assert "[ids] is green" in found.message


@pytest.mark.parametrize("rule", ["", "colour", "/(/", "/", "messages[x]", "messages..a", "[0]"])
def test_a_rule_that_is_none_is_refused(rule):
    with pytest.raises(ReplayError):
        ignoring([rule])


def test_uses_count_and_masked_requests_go_by_start():
    calls = [turn(n, (user(f"at 10:0{n}"),), says(f"answer {n}")) for n in (3, 1, 2)]
    door = door_for(calls, rules=("dates",))
    assert [text(ask(door, f"at 11:0{n}")) for n in range(3)] == ["answer 1", "answer 2", "answer 3"]
    assert isinstance(ask(door, "at 12:00"), Fault)


def test_up_to_a_cut_the_recording_answers():
    agent = call(1, "agent", agent_name="a", end_unix_nano=9000)
    calls = [agent, turn(2, (user("one"),), says("1"), parent_span_id=agent.span_id)]
    calls.append(turn(3, (user("two"),), says("2"), parent_span_id=agent.span_id))
    door = door_for(calls, span_id=calls[2].span_id, anchor="before")
    assert text(ask(door, "one")) == "1"
    found = ask(door, "two")
    assert isinstance(found, Fault)
    assert "come to its cut" in found.message
    assert door.tape.session.stopped == "past_cut"
    door = door_for(calls, span_id=calls[2].span_id, anchor="before", rest_recorded=True)
    assert [text(ask(door, "one")), text(ask(door, "two"))] == ["1", "2"]


def test_a_tool_is_answered_by_id_span_or_conversation():
    door = door_for(recorded_chat())
    assert door.tool("look", {"at": "sky", "filled_in": None}, "c1") == {
        "do": "give", "value": {"is": "blue"}, "text": '{"is":"blue"}', "error": None,
    }  # fmt: skip
    # No span for the tool: what the later request shows is its result.
    door = door_for([each for each in recorded_chat() if each.kind != "tool"])
    assert door.tool("look", {"at": "sky"}, None)["value"] == {"is": "blue"}
    assert door.tool("look", {"at": "sky"}, None)["do"] == "stop"


def test_a_failed_tool_gives_its_error_and_what_the_model_was_shown():
    look = asks_for(("c1", "look", {}))
    failed = call(2, "tool", tool_name="look", tool_call_id="c1", arguments={}, error=ErrorInfo("ValueError", "dark"))
    calls = [turn(1, (user("x"),), look), failed, turn(3, (user("x"), look, result("c1", "Error: dark")), says("oh"))]
    found = door_for(calls).tool("look", {}, "c1")
    assert found["error"] == {"type": "ValueError", "message": "dark"}
    assert found["text"] == "Error: dark"


def test_a_tool_that_ran_in_the_program_is_seen_in_the_next_request():
    door = door_for(recorded_chat())
    ask(door, "look")
    calls = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": json.dumps({"at": "sky"})}}]
    said = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": '{"is": "blue"}'},
    ]
    assert text(door.ask(chat.SPEAKER, {"model": "m", "messages": said})) == "It is blue."
    assert [(row.kind, row.status) for row in door.tape.session.rows] == [
        ("llm", "hit"),
        ("tool", "live"),
        ("llm", "hit"),
    ]


def test_what_the_recording_cannot_hold_is_named():
    door = door_for([turn(1, (user("hi"),), says("hello"), parameters={"temperature": 0.1})])
    assert text(ask(door, "hi", temperature=0.1, seed=7, tools=[{"type": "function", "function": {"name": "look"}}]))
    (note,) = door.tape.comparison.notes()
    assert note == "the recording does not hold: seed, the tools that were offered; not compared"
