"""A foreign call while several families fill it in: the first one to know a thing wins."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from runtime.messages import (
    Call,
    CallKind,
    ErrorInfo,
    Known,
    Message,
    TextPart,
    ToolDefinition,
    Usage,
    message_to_json,
    parse_json_text,
    text_of,
)
from runtime.trace import Span

from ..importers import LogRecord
from ._content import Content
from ._facts import Facts, first_text
from ._view import text


class Draft:
    """The parts of a call that are read only when somebody looks; the narrow ones are in ``facts``."""

    def __init__(self, span: Span, logs: Sequence[LogRecord], facts: Facts, known: Known) -> None:
        self.span = span
        self.logs = logs
        self.facts = facts
        self.kind: CallKind = facts.kind or "other"
        self.attributes: Mapping[str, Any] = span.attributes
        self.content = Content(known)
        self.inputs: tuple[Message, ...] | None = None
        self.outputs: tuple[Message, ...] | None = None
        self.tools: tuple[ToolDefinition, ...] | None = None
        self.parameters: dict[str, Any] = {}
        self.tool_call_id: str | None = None
        self.arguments: Any = None
        self.result: Any = None
        self.has_result = False
        self.input: Any = None
        self.response_model: str | None = None
        self.conversation_id: str | None = None
        self.cached_tokens: int | None = None
        self.cache_write_tokens: int | None = None
        self.reasoning_tokens: int | None = None
        self.finish_reasons: tuple[str, ...] | None = None
        self.output_schema: dict[str, Any] | None = None
        self.error_message: str | None = None
        """Where the status says nothing."""
        self.is_status_of_others = False
        """The span has what only a success gives, and an error of another span was copied into its status."""

    def value(self, key: str) -> Any:
        """An attribute; JSON text parsed, cut JSON as far as it goes."""
        return self.content.value(self.attributes, key)

    def peek(self, key: str) -> Any:
        """An attribute whose text may be JSON; nothing is lost where it is none."""
        value = self.attributes.get(key)
        return parse_json_text(value)

    def first_text(self, *names: str) -> str | None:
        """The first of several attributes that is text."""
        return first_text(self.attributes, names)

    def take_parameters(self, prefix: str, *, but: frozenset[str] = frozenset()) -> None:
        """The request's parameters among the attributes with a prefix; what is known stays."""
        for key, value in self.attributes.items():
            if key.startswith(prefix) and (name := key[len(prefix) :]) not in but:
                self.parameters.setdefault(name, value)

    def take_result(self, value: Any) -> None:
        """A tool's result or an agent's output, unless one is known."""
        if not self.has_result and value is not None:
            self.result, self.has_result = value, True

    def call(self) -> Call:
        """The call, with what was not recorded left at None."""
        span, facts, kind = self.span, self.facts, self.kind
        error = self._error()
        result, has_result = self.result, self.has_result
        agent_input = self.input
        if kind == "agent":
            if not has_result and self.outputs is not None:
                result, has_result = plain(self.outputs), True
            if agent_input is None and self.inputs:
                agent_input = plain(tuple(m for m in self.inputs if m.role != "system"))
        finish_reasons = self.finish_reasons
        if kind == "llm":
            self.outputs = _one_answer(self.outputs, self.parameters)
        if finish_reasons is None and self.outputs is not None:
            finish_reasons = tuple(m.finish_reason for m in self.outputs if m.finish_reason is not None) or None
        lost = self.content.lost
        if lost is None and error is None and span.end_unix_nano is not None:
            lost = _not_recorded(kind, self.outputs, has_result)
        return Call(
            trace_id=span.trace_id,
            span_id=span.span_id,
            parent_span_id=span.parent_span_id,
            kind=kind,
            name=span.name,
            start_unix_nano=span.start_unix_nano,
            end_unix_nano=span.end_unix_nano,
            convention=facts.family,
            agent_name=facts.agent_name,
            provider=facts.provider,
            model=facts.model,
            response_model=self.response_model,
            conversation_id=self.conversation_id,
            input_messages=self.inputs,
            output_messages=self.outputs,
            tool_definitions=self.tools,
            output_schema=self.output_schema,
            parameters=self.parameters,
            api=self._api() if kind == "llm" else None,
            tool_name=facts.tool_name,
            tool_call_id=self.tool_call_id,
            arguments=self.arguments,
            result=result,
            has_result=has_result,
            usage=Usage(
                input_tokens=facts.input_tokens,
                output_tokens=facts.output_tokens,
                cached_tokens=self.cached_tokens,
                cache_write_tokens=self.cache_write_tokens,
                reasoning_tokens=self.reasoning_tokens,
                cost_nano_usd=facts.cost_nano_usd,
            ),
            finish_reasons=finish_reasons,
            error=error,
            input=agent_input,
            lost=lost,
        )

    def _api(self) -> str | None:
        """``responses`` where the producer says so: in the common attribute, the provider's name or the span's."""
        told = self.attributes.get("openai.api.type")
        if isinstance(told, str):
            return told if told == "responses" else None
        for key in _PROVIDER_KEYS:
            if key in self.attributes:
                name = self.attributes[key]
                if isinstance(name, str) and name.endswith(".responses"):
                    return "responses"
        return "responses" if _RESPONSES.search(self.span.name) else None

    def _error(self) -> ErrorInfo | None:
        if self.is_status_of_others:
            return None
        error = error_of(self.span, self.facts.error_type)
        if error is not None and not error.message.strip() and self.error_message:
            return ErrorInfo(error.type, self.error_message)
        return error


_PROVIDER_KEYS: Final = ("gen_ai.provider.name", "gen_ai.system", "ai.model.provider")
_RESPONSES: Final = re.compile(r"(?i)^(?:open ?ai[. ])?responses?(?: api\b.*)?$|^responses\.")
"""Span names of the calls of OpenAI's responses API, by several instrumentations."""

_CHOICES: Final = ("n", "choice.count", "candidate_count", "candidateCount")
"""Names of the parameter that asks for several answers to choose from."""


def _one_answer(outputs: tuple[Message, ...] | None, parameters: Mapping[str, Any]) -> tuple[Message, ...] | None:
    """The items of one answer as one message, where a producer wrote a message for each (responses of OpenAI).

    Several texts may be choices instead; those stay, and so does what was asked for as choices.
    """
    if outputs is None or len(outputs) < 2 or any(parameters.get(name) not in (None, 1) for name in _CHOICES):
        return outputs
    parts = tuple(part for message in outputs for part in message.parts)
    of_model = all(message.role == "assistant" for message in outputs)
    if not of_model or all(isinstance(part, TextPart) for part in parts):
        return outputs
    return (Message("assistant", parts, outputs[0].name, outputs[-1].finish_reason),)


def error_of(span: Span, kind: str | None) -> ErrorInfo | None:
    """The error by what every OpenTelemetry span has: status, a type that was recorded, an exception event."""
    exception: Mapping[str, Any] = {}
    for event in span.events:
        if event.name == "exception":
            exception = event.attributes
    escaped = exception.get("exception.escaped") in (True, "True", "true")
    if span.status_code != 2 and kind is None and not escaped:
        return None
    if kind in (None, "error", "_OTHER"):
        kind = text(exception.get("exception.type")) or kind
    message, told = span.status_message, text(exception.get("exception.message"))
    if told is not None and (not message.strip() or told in message):
        message = told  # a status often repeats the type, or holds the whole traceback
    return ErrorInfo(kind or "error", message)


def _not_recorded(kind: CallKind, outputs: tuple[Message, ...] | None, has_result: bool) -> str | None:
    if kind == "llm" and outputs is None:
        return "the answer was not recorded"
    if kind == "tool" and not has_result:
        return "the result was not recorded"
    return None


def plain(messages: tuple[Message, ...]) -> Any:
    """What an agent was given or gave back: text where the messages hold only text, else the messages."""
    if all(isinstance(part, TextPart) for message in messages for part in message.parts):
        return text_of(messages)
    return [message_to_json(message) for message in messages]
