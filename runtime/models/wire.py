"""The wire protocols from their other end: what a server that speaks them needs of the models' translations.

A model turns a request into a body and an answer into a reply. Whoever stands between a program and its model (the
replay endpoint, a recorder) needs the same tables the other way round, and reads the same answers and streams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias

from . import _anthropic_messages as _messages
from . import _openai_chat as _chat
from . import _openai_completions as _completions
from . import _openai_responses as _responses
from ._protocol import Delta, Reply
from ._sdk import error_facts
from ._wire import parsed_arguments, to_text

WireName: TypeAlias = Literal["chat", "completions", "responses", "messages"]


class Assembler(Protocol):
    """Events of a stream -> the whole answer."""

    def feed(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        """The deltas in one event; has to be used up. Raises ModelError where the event is an error."""

    def whole(self) -> Mapping[str, Any]:
        """The answer put together. Raises ModelTransportError: the stream ended before the answer did."""


@dataclass(frozen=True, slots=True)
class Wire:
    """One protocol."""

    name: WireName
    provider: str
    """Whose protocol it is, and who serves it where nothing else is known."""
    renamed: Mapping[str, str]
    """Parameters of a body by the protocol's name -> their GenAI name, where the two differ."""
    reply_of: Callable[[Mapping[str, Any]], Reply]
    """The reply in a whole answer. Raises ModelError: it is a refusal, or none."""
    assembler: Callable[[], Assembler]
    """For one stream."""


def _turned(table: Mapping[str, str]) -> dict[str, str]:
    return {theirs: ours for ours, theirs in table.items()}


CHAT: Final = Wire(
    "chat",
    "openai",
    _turned(_chat.RENAMED) | {"max_completion_tokens": "max_tokens"},
    lambda answer: _chat.reply_of(answer, None, "openai", None),
    lambda: _chat.ChatStream(False, "openai"),
)
COMPLETIONS: Final = Wire(
    "completions",
    "openai",
    {},
    _completions.reply_of,
    _completions.CompletionStream,
)
RESPONSES: Final = Wire(
    "responses",
    "openai",
    _turned(_responses.RENAMED),
    lambda answer: _responses.reply_of(answer, None, "openai", None),
    lambda: _responses.ResponseStream(False, "openai"),
)
MESSAGES: Final = Wire(
    "messages",
    "anthropic",
    {},
    lambda answer: _messages.reply_of(answer, None, "anthropic", None),
    lambda: _messages.MessageStream(None, "anthropic"),
)

__all__ = [
    "CHAT",
    "COMPLETIONS",
    "MESSAGES",
    "RESPONSES",
    "Assembler",
    "Wire",
    "WireName",
    "error_facts",
    "parsed_arguments",
    "to_text",
]
