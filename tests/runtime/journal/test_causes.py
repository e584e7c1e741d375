"""The class of cause of a divergence: what the requests tell as a whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runtime.errors import ReplayStop
from runtime.journal import STRICT, Journal, ReplaySession
from runtime.messages import Message, Outcome, Request, TextPart, ToolCallPart, ToolCallResponsePart, ToolRequest

USER = Message("user", (TextPart("Rome?"),))
LOOK, FIND = ToolRequest(name="look", arguments={"at": "Rome"}), ToolRequest(name="find", arguments={"in": "Rome"})
CALLS = Message("assistant", (ToolCallPart("1", "look", {"at": "Rome"}), ToolCallPart("2", "find", {"in": "Rome"})))
LOOKED = Message("tool", (ToolCallResponsePart("1", "sunny"),))
FOUND = Message("tool", (ToolCallResponsePart("2", "a museum"),))
BOTH = Message("user", (*LOOKED.parts, *FOUND.parts))
DONE = Message("assistant", (TextPart("Sunny."),))


def ask(*messages: Message) -> Request:
    return Request(messages=messages, model="m")


def session(*calls: tuple[str, Request | ToolRequest, object]) -> ReplaySession:
    journal = Journal()
    for n, (kind, request, output) in enumerate(calls):
        outcome = Outcome(status="ok", output=output, span_id=f"s{n}", start_unix_nano=n + 1, duration_ns=1)
        journal.record(kind, request.content_hash, outcome, request)  # type: ignore[arg-type]
    return ReplaySession({"root": journal}, policy=STRICT)


def recorded() -> ReplaySession:
    return session(
        ("prompt", ask(USER), CALLS),
        ("tool", LOOK, "sunny"),
        ("tool", FIND, "a museum"),
        ("prompt", ask(USER, CALLS, LOOKED, FOUND), DONE),
    )


def cause_of_asking(replay: ReplaySession, *messages: Message) -> str:
    with pytest.raises(ReplayStop):
        replay.answer("root", "prompt", "m", "x", ask(*messages))
    assert replay.divergence is not None
    return replay.divergence.cause


@pytest.mark.parametrize(
    ("messages", "cause"),
    [
        ((USER, CALLS, FOUND, LOOKED), "order"),
        ((USER, CALLS, LOOKED), "missing call"),
        ((USER, CALLS, LOOKED, FOUND, Message("tool", (ToolCallResponsePart("3", "more"),))), "extra call"),
        ((USER, CALLS, LOOKED, FOUND, DONE), "extra call"),
        ((USER, CALLS, LOOKED, FOUND, USER), "prompt text"),
        ((USER, CALLS, LOOKED, Message("tool", (ToolCallResponsePart("2", "a park"),))), "tool result"),
        ((Message("user", (TextPart("Oslo?"),)), CALLS, LOOKED, FOUND), "prompt text"),
    ],
)
def test_a_conversation_tells_the_cause_as_a_whole(messages, cause):
    assert cause_of_asking(recorded(), *messages) == cause


def test_results_of_one_message_in_another_order_are_an_order():
    swapped = Message("user", tuple(reversed(BOTH.parts)))
    replay = session(("prompt", ask(USER, CALLS, BOTH), DONE))
    assert cause_of_asking(replay, USER, CALLS, swapped) == "order"


def test_calls_in_another_order_hit_all_the_same():
    replay = recorded()
    for kind, request in (("prompt", ask(USER)), ("tool", FIND), ("tool", LOOK)):
        assert replay.answer("root", kind, "x", f"{kind}{request.content_hash}", request) is not None
    assert replay.divergence is None


def test_a_tool_that_was_never_called_is_an_extra_call():
    replay = recorded()
    with pytest.raises(ReplayStop):
        replay.answer("root", "tool", "book", "x", ToolRequest(name="book", arguments={}))
    assert replay.divergence is not None
    assert replay.divergence.cause == "extra call"


def test_one_call_more_than_recorded_is_an_extra_call():
    replay = session(("tool", LOOK, "sunny"))
    assert replay.answer("root", "tool", "look", "x1", LOOK) is not None
    with pytest.raises(ReplayStop):
        replay.answer("root", "tool", "look", "x2", LOOK)
    assert replay.divergence is not None
    assert (replay.divergence.cause, replay.divergence.nearest_span_id) == ("extra call", "s0")


def test_a_run_that_ends_before_its_recording_misses_a_call():
    replay = recorded()
    replay.answer("root", "prompt", "m", "x1", ask(USER))
    replay.answer("root", "tool", "look", "x2", LOOK)
    replay.finish()
    assert replay.divergence is not None
    assert (replay.divergence.cause, replay.divergence.name) == ("missing call", "model")
    assert "1 more model call " in replay.divergence.reason
    assert replay.stopped is None


def test_a_run_that_used_all_misses_nothing():
    replay = session(("tool", LOOK, "sunny"))
    replay.answer("root", "tool", "look", "x1", LOOK)
    replay.finish()
    assert replay.divergence is None


def test_other_arguments_of_a_tool_are_named_with_their_path():
    replay = recorded()
    with pytest.raises(ReplayStop):
        replay.answer("root", "tool", "look", "x", ToolRequest(name="look", arguments={"at": "Oslo"}))
    found = replay.divergence
    assert found is not None
    assert (found.cause, found.nearest_span_id) == ("tool arguments", "s1")
    shown = found.differences[0]
    assert (shown.part, shown.path, shown.recorded, shown.actual) == ("arguments", "arguments.at", "Rome", "Oslo")


def test_parameters_make_no_miss_and_are_named_beside_what_does():
    hotter = Request(messages=(USER,), model="m", parameters={"temperature": 1})
    replay = session(("prompt", ask(USER), DONE))
    assert replay.answer("root", "prompt", "m", "x1", hotter) is not None
    assert replay.divergence is None
    replay = session(("prompt", ask(DONE), DONE))
    with pytest.raises(ReplayStop):
        replay.answer("root", "prompt", "m", "x1", hotter)
    assert replay.divergence is not None
    assert replay.divergence.cause == "prompt text"
    last = replay.divergence.differences[-1]
    assert (last.part, last.path, last.actual) == ("parameters", "parameters.temperature", 1)


@pytest.mark.parametrize("compared", [False, True])
def test_a_parameter_that_both_sides_tell_is_compared(compared: bool) -> None:
    was = Request(messages=(USER,), model="m", parameters={"temperature": 0.2, "top_p": 1})
    now = Request(messages=(USER,), model="m", parameters={"temperature": 0.9, "seed": 7})
    journal = Journal()
    outcome = Outcome(status="ok", output=None, span_id="s", start_unix_nano=1)
    journal.record("prompt", was.content_hash, outcome, was)
    found = ReplaySession({"root": journal}, policy=replace(STRICT, compare_parameters=compared))
    if compared:
        with pytest.raises(ReplayStop):
            found.answer("root", "prompt", "m", "c", now)
        assert found.divergence is not None
        assert found.divergence.cause == "parameters"
        assert [d.path for d in found.divergence.differences] == ["parameters.temperature"]
    else:
        assert found.answer("root", "prompt", "m", "c", now)
    assert [(d.recorded, d.actual) for d in found.parameters.values()] == [(0.2, 0.9)]
