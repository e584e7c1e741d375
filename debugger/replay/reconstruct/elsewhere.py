"""What no span holds and something later shows: the result of a tool without a span, an answer that was streamed.

The calls are completed with it, and say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runtime.messages import Call, Json, Message, Part, TextPart, ToolCallPart

from .script import Ref
from .steps import Layout
from .turns import Turns


def answers_elsewhere(calls: Sequence[Call], layout: Layout) -> tuple[list[Call], int]:
    """Answers that were not recorded, as the next request of their conversation shows them, or what their agent gave.

    A request shows the answer of another one that it begins with, if no third asked the same. What an agent gave back
    is the answer of its last model call, where that is a text.

    Returns: all calls, and how many of them were completed.
    """
    by_frame: dict[str, list[Call]] = {}
    for call in calls:
        if call.kind == "llm" and call.input_messages is not None:
            by_frame.setdefault(layout.frame_of(call.span_id), []).append(call)
    found: dict[str, Call] = {}
    for frame, asked in by_frame.items():
        for n, call in enumerate(asked):
            if call.lost is None or call.error is not None:
                continue
            answer, where = _shown_after(call, asked[n + 1 :]), "in the next request to the model"
            if answer is None and call is asked[-1]:
                answer, where = _given_back(layout.calls.get(frame)), "that the agent gave back"
            if answer is not None:
                why = (*call.inferred, f"the answer is the one {where}")
                found[call.span_id] = replace(call, output_messages=(answer,), lost=None, inferred=why)
    return [found.get(call.span_id, call) if call.kind == "llm" else call for call in calls], len(found)


def _given_back(agent: Call | None) -> Message | None:
    if agent is None or agent.error is not None or not isinstance(agent.result, str) or not agent.result.strip():
        return None
    return Message(role="assistant", parts=(TextPart(agent.result),))


def _shown_after(call: Call, later: Sequence[Call]) -> Message | None:
    asked = [message.digest for message in call.input_messages or ()]
    for each in later:
        messages = each.input_messages or ()
        if [message.digest for message in messages[: len(asked)]] != asked:
            continue
        parts: list[Part] = []
        for message in messages[len(asked) :]:
            if message.role != "assistant":
                break
            parts.extend(message.parts)
        # A request that says no more asks the same again: then what comes later may be what that one was answered.
        return Message(role="assistant", parts=tuple(parts)) if parts else None
    return None


def results_elsewhere(calls: Sequence[Call], turns: Turns, taken: set[Ref]) -> tuple[list[Call], dict[str, str]]:
    """Tool calls that have no span of their own, as calls with the result that a later request shows.

    Returns: all calls with those among them, and for each new span the span of the request that shows its result.
    """
    made: dict[str, list[Call]] = {}
    shown_by: dict[str, str] = {}
    for ref, (turn, result) in turns.shown.items():
        if ref in taken:
            continue
        asked_in = turns.turns[ref.turn].span_id
        call = _tool_call(calls, asked_in, turns.asked[ref], ref, result)
        made.setdefault(asked_in, []).append(call)
        shown_by[call.span_id] = turns.turns[turn].span_id
    out: list[Call] = []
    for call in calls:
        out.append(call)
        out.extend(made.get(call.span_id, ()) if call.kind == "llm" else ())
    return out, shown_by


def _tool_call(calls: Sequence[Call], asked_in: str, part: ToolCallPart, ref: Ref, result: Json) -> Call:
    llm = next(call for call in calls if call.span_id == asked_in and call.kind == "llm")
    time = llm.end_unix_nano or llm.start_unix_nano
    return replace(
        llm,
        span_id=f"{asked_in}.{ref.place}",
        kind="tool",
        name=f"execute_tool {part.name}",
        start_unix_nano=time,
        end_unix_nano=time,
        convention=llm.convention or "inferred",
        model=None,
        input_messages=None,
        output_messages=None,
        tool_definitions=None,
        output_schema=None,
        parameters={},
        tool_name=part.name,
        tool_call_id=part.id,
        arguments=part.arguments,
        result=result,
        has_result=True,
        usage=type(llm.usage)(),
        finish_reasons=None,
        error=None,
        call_id=None,
        content_hash=None,
        start_seq=None,
        end_seq=None,
        run_id=llm.run_id,
        lost=None,
        served_by=None,
        origin_span_id=None,
        marks=(),
        inferred=("the result is the one in the next request to the model",),
    )
