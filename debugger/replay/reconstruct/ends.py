"""What a frame gives back: found among the answers of its model turns and the outputs of its agents."""

from __future__ import annotations

from collections.abc import Iterator

from runtime.messages import Json, Message, ToolCallPart, message_from_json, parse_json_text, text_of

from .forms import is_form_of, same
from .script import AgentStep, Frame, RecordedEnd, Script, Step, ToolStep, TurnStep


def said_in(answer: Message | None) -> Json:
    """What an answer says: its text, else the arguments of its tool call (a final answer given as one)."""
    if answer is None:
        return None
    text = text_of([answer])
    if text:
        return text
    calls = [part for part in answer.parts if isinstance(part, ToolCallPart)]
    return parse_json_text(calls[0].arguments) if calls else None


def source_of(script: Script, steps: tuple[Step, ...], result: Json, has_result: bool) -> Step | None:
    """The step whose value becomes the value of what holds the steps.

    The last one whose recorded value the recorded result shows; where none does, the last one that has a value.
    """
    last: Step | None = None
    for step in reversed(steps):
        if not _has_value(script, step):
            continue
        if not has_result or is_form_of(result, recorded_value(script, step)):
            return step
        last = last or step
    return last


def recorded_value(script: Script, step: Step | None) -> Json:
    """The value of a step as it was recorded."""
    if isinstance(step, TurnStep):
        answer = script.turns[step.turn].answer
        return said_in(message_from_json(answer)) if answer is not None else None
    if isinstance(step, ToolStep):
        return step.result
    return recorded_output(script, step.frame) if isinstance(step, AgentStep) else None


def recorded_output(script: Script, frame: Frame) -> Json:
    """What a frame gave back when it was recorded, as far as the trace tells."""
    if frame.has_result:
        return frame.result
    return recorded_value(script, source_of(script, frame.steps, None, False))


def recorded_end(script: Script) -> RecordedEnd:
    """How the recorded run came out."""
    root = script.root
    error = root.error or next((e for step in reversed(root.steps) if (e := _failure(script, step))), None)
    if error is not None:
        return RecordedEnd(is_known=True, error=error)
    source = final_source(script)
    is_known = root.has_ended and source is not None and all(_has_ended(step) for step in root.steps)
    is_known = is_known and not _ends_unheard(script, root)
    return RecordedEnd(is_known=is_known, output=root.result if root.has_result else recorded_value(script, source))


def final_source(script: Script) -> Step | None:
    """The step whose value is the output of the run.

    Where a framework's agent gave back its whole state, that is the last answer in it, not the state.
    """
    root = script.root
    step = source_of(script, root.steps, root.result, root.has_result)
    while isinstance(step, AgentStep) and isinstance(step.frame.result, dict | list):
        frame = step.frame
        inner = source_of(script, frame.steps, frame.result, frame.has_result)
        said = recorded_value(script, inner)
        if not isinstance(said, str) or same(said, frame.result) or not is_form_of(frame.result, said):
            break
        step = inner
    return step


def last_turn(script: Script) -> int | None:
    """The turn whose answer is the run's last word; its conversation is what goes on from the end."""
    step = final_source(script)
    while step is not None and not isinstance(step, TurnStep):
        inner = step.inside if isinstance(step, ToolStep) else step.frame.steps
        step = source_of(script, inner, recorded_value(script, step), True)
    return step.turn if step is not None else None


def turns_in(step: Step) -> Iterator[int]:
    """All model turns of a step, at any depth."""
    if isinstance(step, TurnStep):
        yield step.turn
        return
    for inner in step.inside if isinstance(step, ToolStep) else step.frame.steps:
        yield from turns_in(inner)


def _ends_unheard(script: Script, frame: Frame) -> bool:
    """Whether a frame's last word is an answer that the trace does not hold, so that another would be taken for it."""
    if frame.has_result:
        return False
    source = source_of(script, frame.steps, None, False)
    place = next((i for i, step in enumerate(frame.steps) if step is source), -1)
    asked = [script.turns[n] for step in frame.steps[place + 1 :] for n in turns_in(step)]
    if any(turn.answer is None and turn.error is None for turn in asked):
        return True
    return isinstance(source, AgentStep) and _ends_unheard(script, source.frame)


def _failure(script: Script, step: Step) -> tuple[str, str] | None:
    if not step.is_fatal:
        return None
    if isinstance(step, TurnStep):
        return script.turns[step.turn].error
    return step.error if isinstance(step, ToolStep) else step.frame.error


def _has_value(script: Script, step: Step) -> bool:
    if isinstance(step, TurnStep):
        return script.turns[step.turn].answer is not None
    if isinstance(step, ToolStep):
        return bool(step.inside)
    return step.frame.has_result or source_of(script, step.frame.steps, None, False) is not None


def _has_ended(step: Step) -> bool:
    return step.end is not None
