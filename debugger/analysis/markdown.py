"""Markdown of what is shown: notes and conversations. Text of a trace stands there as text, whatever is in it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Protocol

from runtime.messages import (
    BlobPart,
    Call,
    Json,
    Message,
    OtherPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    parse_json_text,
)

from .conversation import GLYPHS
from .document import Original
from .text import NO_NAME, clock, with_escapes
from .tree import called

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&$@:=^])")


class NoteLike(Protocol):
    """What is needed of a note."""

    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def body(self) -> str: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def source(self) -> str: ...  # noqa: D102
    @property
    def trace_id(self) -> str: ...  # noqa: D102
    @property
    def span_id(self) -> str: ...  # noqa: D102
    @property
    def made_unix_nano(self) -> int: ...  # noqa: D102


def escaped(text: str) -> str:
    """A short text as one line of Markdown in which nothing is markup."""
    return _SPECIAL.sub(r"\\\1", with_escapes(" ".join(text.split())) or NO_NAME)


def fenced(text: str, language: str = "") -> str:
    """A text as a code block, whose fence is longer than any within it; control characters are escapes of JSON."""
    shown = with_escapes(text)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def span_link(source: str, trace_id: str, span_id: str) -> str:
    """The command that opens the screen at a span; without a source it opens the library."""
    words = ["retrospan", *([source] if source else []), "--trace", trace_id, *(["--span", span_id] if span_id else [])]
    return shlex.join(words)


def notebook_markdown(notes: Iterable[NoteLike], title: str = "Notebook") -> str:
    """A notebook as Markdown: a heading for each note, the command that opens its span, its text."""
    out = [f"# {escaped(title)}", ""]
    for note in notes:
        out += [f"## {escaped(note.title)}", ""]
        if note.trace_id:
            out += [fenced(span_link(note.source, note.trace_id, note.span_id), "sh"), ""]
        if note.body:
            # What the user typed is theirs to format; what comes from a trace is not.
            body = with_escapes(note.body)
            out += [body if note.kind == "note" else fenced(note.body, "text"), ""]
        out += [f"*{escaped(clock(note.made_unix_nano, with_year=True))}*", ""]
    return "\n".join(out)


def conversation_markdown(calls: Sequence[Call], title: str) -> str:
    """The conversation of a trace as Markdown: every message once, where it first appeared.

    Args:
        calls: of the trace, in timeline order.
        title: the trace's name.
    """
    out = [f"# {escaped(title)}", ""]
    known: set[str] = set()
    for call in calls:
        body: list[str] = []
        for message in (*(call.input_messages or ()), *(call.output_messages or ())):
            if message.digest not in known:
                known.add(message.digest)
                body += _message(message)
        if call.kind in ("tool", "retriever"):
            body += _value("arguments", call.arguments) if call.arguments is not None else []
            body += _value("result", call.result) if call.has_result else []
        if call.error is not None:
            body += [f"**error** {escaped(call.error.type)}", "", fenced(call.error.message or "(no message)"), ""]
        if body or call.kind == "agent":
            out += [f"## {GLYPHS[call.kind]} {escaped(called(call))}", "", *body]
    return "\n".join(out)


def _message(message: Message) -> list[str]:
    out: list[str] = [f"**{escaped(message.role)}**", ""]
    for part in message.parts:
        match part:
            case TextPart(content):
                out += [fenced(content, "text"), ""]
            case ReasoningPart(content):
                out += ["thinking", "", fenced(content, "text"), ""]
            case ToolCallPart(_, name, arguments):
                out += _value(f"▲ {name}", arguments)
            case ToolCallResponsePart(_, response):
                out += _value("↳ answer of a tool", response)
            case BlobPart(mime_type, _, _, _):
                out += [f"▣ {escaped(mime_type or 'file')}", ""]
            case OtherPart(kind, data):
                out += _value(kind, dict(data))
    return out


def _value(name: str, value: Json) -> list[str]:
    parsed = parse_json_text(value)
    if isinstance(parsed, str):
        return [escaped(name), "", fenced(parsed, "text"), ""]
    return [escaped(name), "", fenced(Original(parsed).text, "json"), ""]
