"""What a rebuilt agent is: frames with steps in the order of their starts, and how each request was made.

Plain frozen data that crosses to the child process as JSON. Nothing in it is guessed: a message is either made from an
earlier answer or tool result of the same run, or given as it was recorded, and then the reason is kept.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

Json: TypeAlias = Any

Reason: TypeAlias = Literal["start", "input", "rewritten"]
"""Why a message is given as recorded: it opens a conversation, it came from outside (a user's next message, say), or
the program made it in a way that the trace does not tell."""


class Ref(msgspec.Struct, frozen=True, array_like=True):
    """A tool call in the answer of a turn."""

    turn: int
    place: int
    """Which of the answer's tool calls, from 0."""


class Derived(msgspec.Struct, frozen=True):
    """A text that repeats an argument of the tool call that opened the agent."""

    part: int
    argument: str
    value: str


class Given(msgspec.Struct, frozen=True, tag="given"):
    """A message as it was recorded."""

    message: dict[str, Json]
    reason: Reason
    derived: tuple[Derived, ...] = ()


class AnswerOf(msgspec.Struct, frozen=True, tag="answer"):
    """The answer of an earlier turn, as the program wrote it into this request."""

    turn: int
    message: dict[str, Json]


class ResultsOf(msgspec.Struct, frozen=True, tag="results"):
    """Results of tool calls, as the program wrote them into this request."""

    message: dict[str, Json]
    refs: tuple[Ref | None, ...]
    """Per part of the message; None for a part that answers no call."""


Slot: TypeAlias = Given | AnswerOf | ResultsOf


class Settings(msgspec.Struct, frozen=True):
    """What a request holds beside its messages."""

    tools: tuple[dict[str, Json], ...] | None
    output_schema: dict[str, Json] | None
    model: str | None
    provider: str | None
    parameters: dict[str, Json]
    api: str | None = None


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One request to a model with its recorded answer."""

    span_id: str
    settings: int
    """Place in the script's settings."""
    base: int | None
    """The turn whose conversation this one goes on with."""
    kept: int
    """How many of the base's messages stand at the beginning."""
    slots: tuple[Slot, ...]
    """The messages after those."""
    answer: dict[str, Json] | None
    """None where it failed or was not recorded."""
    error: tuple[str, str] | None = None
    """Type and message of a recorded failure."""
    is_known: bool = True
    """False where the request was not recorded, so that it cannot be made again."""


class TurnStep(msgspec.Struct, frozen=True, kw_only=True, tag="turn"):
    """A model is asked."""

    turn: int
    start: int
    end: int | None
    is_fatal: bool = False
    """The recorded agent did not go on after this had failed."""


class ToolStep(msgspec.Struct, frozen=True, kw_only=True, tag="tool"):
    """A tool is called."""

    span_id: str
    name: str
    arguments: Json
    ref: Ref | None
    """The model's tool call that it carries out; None where the program called it by itself."""
    tool_call_id: str | None
    result: Json
    error: tuple[str, str] | None
    start: int
    end: int | None
    inside: tuple[Step, ...] = ()
    """Agents and model turns that ran inside: then these are run again, instead of answering the tool as a whole."""
    is_fatal: bool = False


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One execution of one agent; the run's own frame has no name."""

    agent_id: str
    span_id: str | None
    input: Json
    steps: tuple[Step, ...]
    has_ended: bool
    has_result: bool
    result: Json
    error: tuple[str, str] | None


class AgentStep(msgspec.Struct, frozen=True, kw_only=True, tag="agent"):
    """An agent is run."""

    frame: Frame
    ref: Ref | None
    """The model's tool call that opened it."""
    start: int
    end: int | None
    is_fatal: bool = False


Step: TypeAlias = TurnStep | ToolStep | AgentStep


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """The whole run."""

    name: str
    turns: tuple[Turn, ...]
    settings: tuple[Settings, ...]
    root: Frame


class RecordedEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How the recorded run came out, as far as the trace tells."""

    is_known: bool
    output: Json = None
    error: tuple[str, str] | None = None


def script_to_json(script: Script) -> Json:
    """The script as JSON, for the child process."""
    return msgspec.to_builtins(script)


def script_from_json(data: Json) -> Script:
    """The script that ``script_to_json`` wrote.

    Raises: msgspec.ValidationError: it is none.
    """
    return msgspec.convert(data, Script)
