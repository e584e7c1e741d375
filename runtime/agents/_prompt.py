"""A prompt: model turns and tool calls until the model has answered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast, overload

from pydantic import TypeAdapter, ValidationError

from ..errors import AgentError, NotSerializableError, OutputError, StepLimitError
from ..messages import Json, Message, Request, TextPart, ToolCallPart, json_safe, text_of
from ..models import Model
from ..tools import Tool, tool_of
from ._agent import Agent
from ._context import Context, current_context
from ._tool_calls import tool_batch
from ._turns import OnDelta, model_turn

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T]):
    """What came of a prompt."""

    output: T
    """The text, or the value of the wanted type."""
    messages: tuple[Message, ...]
    """The whole conversation, the answer last; give it to the next prompt as ``history`` to go on."""
    steps: int
    """Model turns it took."""

    @property
    def text(self) -> str:
        """The text of the last message."""
        return text_of(self.messages[-1:])


@overload
async def prompt(
    user: str | None = ...,
    *,
    system: str | None = ...,
    history: Sequence[Message] = ...,
    output: None = ...,
    tools: Sequence[Tool | Agent[..., Any]] | None = ...,
    model: Model | str | None = ...,
    max_steps: int = ...,
    retries: int = ...,
    on_delta: OnDelta | None = ...,
    **parameters: Json,
) -> Answer[str]: ...
@overload
async def prompt(
    user: str | None = ...,
    *,
    system: str | None = ...,
    history: Sequence[Message] = ...,
    output: type[T],
    tools: Sequence[Tool | Agent[..., Any]] | None = ...,
    model: Model | str | None = ...,
    max_steps: int = ...,
    retries: int = ...,
    on_delta: OnDelta | None = ...,
    **parameters: Json,
) -> Answer[T]: ...
async def prompt(
    user: str | None = None,
    *,
    system: str | None = None,
    history: Sequence[Message] = (),
    output: type[Any] | None = None,
    tools: Sequence[Tool | Agent[..., Any]] | None = None,
    model: Model | str | None = None,
    max_steps: int = 10,
    retries: int = 2,
    on_delta: OnDelta | None = None,
    **parameters: Json,
) -> Answer[Any]:
    """Ask the agent's model, run the tools it asks for, and go on until it answers.

    Args:
        user: the user's text, after the history.
        system: the system text, before the history.
        history: messages of an earlier prompt.
        output: a type that pydantic understands; the answer must be JSON of it. None wants text.
        tools: instead of the agent's own.
        model: instead of the agent's own; an object or a key in the run's ``models``.
        max_steps: model turns with tool calls before ``StepLimitError``.
        retries: how often an answer that does not fit ``output`` is sent back.
        on_delta: called with each piece of each answer as it comes; a recorded answer comes as one piece.
        parameters: sampling parameters by their GenAI names (``temperature``, ``max_tokens``); no part of the content
        hash.

    Raises:
        ContextNotFoundError: outside a run.
        StepLimitError, OutputError: as said above.
        AgentError: no model, or something among the tools that is none.
        NotSerializableError: a parameter is no JSON.
        TypeError: the text of user or system is no text.
        Exception: what the model raised.
    """
    context = current_context("prompt()")
    if not isinstance(user, str | None) or not isinstance(system, str | None):
        raise TypeError("prompt(): user and system are texts; write other values as text, such as with json.dumps")
    asked = _Prompt.of(context, model, tools, output, on_delta, parameters)
    messages = [*([Message("system", (TextPart(system),))] if system else []), *history]
    if user is not None:
        messages.append(Message("user", (TextPart(user),)))
    refused = steps = 0
    while True:
        answer = await asked.turn(context, messages)
        messages.append(answer)
        steps += 1
        calls = [part for part in answer.parts if isinstance(part, ToolCallPart)]
        if calls:
            if steps >= max_steps:
                raise StepLimitError(context.agent_id, max_steps)
            messages.extend(await tool_batch(context, asked.tools, calls))
            continue
        text = text_of([answer])
        if asked.adapter is None:
            return Answer(output=text, messages=tuple(messages), steps=steps)
        try:
            value = asked.adapter.validate_json(text)
        except ValidationError as fault:
            reason = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'answer'}: {e['msg']}" for e in fault.errors())
            refused += 1
            if refused > retries:
                raise OutputError(context.agent_id, asked.wanted, reason, text) from fault
            messages.append(Message("user", (TextPart(f"The answer does not fit the schema: {reason}. Try again."),)))
            continue
        return Answer(output=value, messages=tuple(messages), steps=steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prompt:
    """What stays the same over the turns of one prompt."""

    model: Model
    tools: dict[str, Tool]
    adapter: TypeAdapter[Any] | None
    schema: dict[str, Any] | None
    wanted: str
    parameters: dict[str, Json]
    on_delta: OnDelta | None

    @classmethod
    def of(
        cls,
        context: Context,
        model: Model | str | None,
        tools: Sequence[Tool | Agent[..., Any]] | None,
        output: type[Any] | None,
        on_delta: OnDelta | None,
        parameters: dict[str, Json],
    ) -> _Prompt:
        settings = cast("Agent[..., Any] | None", context.settings)
        chosen = model if model is not None else (settings.model if settings else None)
        if isinstance(chosen, str):
            chosen = context.run.model(chosen)
        if chosen is None:
            raise AgentError(f"agent {context.agent_id!r} has no model; give one to the agent or to prompt(model=...)")
        offered = tools if tools is not None else (settings.tools if settings else ())
        adapter = None if output is None else TypeAdapter(output)
        return cls(
            model=chosen,
            tools=_by_name(context, offered),
            adapter=adapter,
            # A round trip, since a schema may hold tuples or enums, and the hash wants plain JSON.
            schema=None if adapter is None else json.loads(json.dumps(adapter.json_schema(), default=str)),
            wanted=getattr(output, "__name__", str(output)),
            parameters=_plain(parameters),
            on_delta=on_delta,
        )

    async def turn(self, context: Context, messages: Sequence[Message]) -> Message:
        request = Request(
            messages=tuple(messages),
            tools=tuple(tool.definition for tool in self.tools.values()),
            output_schema=self.schema,
            model=self.model.id,
            provider=self.model.provider,
            parameters=self.parameters,
        )
        call_id = context.next_call_id("prompt", "prompt")
        return await model_turn(context, self.model, request, call_id, self.on_delta)


def _by_name(context: Context, offered: Sequence[Tool | Agent[..., Any]]) -> dict[str, Tool]:
    found: dict[str, tuple[object, Tool]] = {}
    for each in offered:
        made = as_tool(each)
        if found.setdefault(made.name, (each, made))[0] is not each:
            raise AgentError(f"agent {context.agent_id!r} offers two tools of the name {made.name!r}")
    return {name: made for name, (_, made) in found.items()}


def _plain(parameters: dict[str, Json]) -> dict[str, Json]:
    """Sampling parameters as JSON, as they are sent and recorded."""
    plain, faults = json_safe(parameters)
    if faults:
        raise NotSerializableError("parameters of prompt()", faults)
    return cast("dict[str, Json]", plain)


def as_tool(offered: Tool | Agent[..., Any]) -> Tool:
    """The tool itself, or an agent as a tool of the same name and parameters.

    Raises: AgentError: it is neither.
    """
    if isinstance(offered, Tool):
        return offered
    if not isinstance(offered, Agent):
        name = getattr(offered, "__name__", repr(offered)[:80])
        raise AgentError(f"{name} is neither a tool nor an agent; put the decorator `tool` before the function")
    made = tool_of(offered.fn, name=offered.id)
    return replace(made, fn=_calling(offered), effect="pure", runs_agent=True)


def _calling(agent: Agent[..., Any]) -> Any:
    async def call(**arguments: Any) -> Any:
        return await agent(**arguments)

    return call
