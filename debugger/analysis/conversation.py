"""What a call said and heard, as a view model: messages by role, tool calls, results, output, tokens, error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from runtime.messages import (
    BlobPart,
    Call,
    CallKind,
    Json,
    Message,
    OtherPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    Usage,
    parse_json_text,
)

from .context import Carried, carried_from
from .document import Builder, Document, Line, Original, Piece, Style, json_lines, json_piece, json_text, told
from .media import media_of
from .prices import computed_cost
from .text import cost, count, duration, one_line, plural, size, sparkline
from .tree import TreeMark

GLYPHS: dict[CallKind, str] = {
    "agent": "●",
    "llm": "◆",
    "tool": "▲",
    "retriever": "■",
    "embedding": "■",
    "chain": "○",
    "other": "·",
}
"""The sign of each kind of call; colour only repeats it."""

KIND_STYLES: dict[CallKind, Style] = {
    "agent": "agent",
    "llm": "llm",
    "tool": "tool",
    "retriever": "retriever",
    "embedding": "retriever",
    "chain": "",
    "other": "dim",
}

_ROLES: dict[str, Style] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}

Place: TypeAlias = Literal["input", "output"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageView:
    """A message in its place."""

    message: Message
    place: Place
    is_new: bool | None
    """An input message that the previous call did not hold yet; None where there is nothing to compare with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """All that the conversation tab shows of one call."""

    call: Call
    messages: tuple[MessageView, ...]
    carried: Carried | None
    """What of the input the previous call held already; None where there is nothing to compare with."""
    grown_tokens: int | None
    """Input tokens more than the previous call; None where one of them is not known."""
    growth: tuple[int, ...] = ()
    """Input tokens of the agent's model calls up to this one, the last ones."""


def conversation(call: Call, previous: Call | None = None, growth: Sequence[int] = ()) -> Conversation:
    """The view model of a call.

    Args:
        call: the call to show.
        previous: the model call before it in the same agent, whose messages count as known.
        growth: input tokens of the agent's model calls up to this one.
    """
    carried = None if previous is None else carried_from(call, previous)
    inputs = call.input_messages or ()
    # A call that took over nothing begins a conversation of its own: that all of it is new says nothing.
    marks = carried.is_new if carried is not None and carried.kept else [None] * len(inputs)
    views = [MessageView(message=m, place="input", is_new=is_new) for m, is_new in zip(inputs, marks, strict=True)]
    views.extend(MessageView(message=m, place="output", is_new=None) for m in call.output_messages or ())
    before = previous.usage.input_tokens if previous else None
    now = call.usage.input_tokens
    grown = now - before if now is not None and before is not None else None
    return Conversation(call=call, messages=tuple(views), carried=carried, grown_tokens=grown,
                        growth=tuple(growth))  # fmt: skip


def document_of(view: Conversation, marks: Sequence[TreeMark] = ()) -> Document:
    """The conversation as lines, after what is odd about the span."""
    call = view.call
    out = Builder()
    _head(out, view)
    for mark in marks:
        out.line(Piece(f"! {mark.text}", "warning"))
    if call.error is not None:
        out.gap()
        kind = told(call.error.type, "error", "error", before="✗ ", after=": ")
        out.text("error", call.error.message or "(no message)", style="error", first=(kind,))
    if call.lost is not None:
        out.line(told(call.lost, "warning", before="! cannot answer a replay: "))
    _settings(out, call)
    for i, shown in enumerate(view.messages):
        if shown.place == "output" and (i == 0 or view.messages[i - 1].place == "input"):
            out.heading("answer", *_finish(call))
        _message(out, f"{'i' if shown.place == 'input' else 'o'}{i}", shown)
    _plain_values(out, call)
    if not view.messages and call.kind == "llm":
        out.gap()
        out.line(Piece("The messages were not recorded in this trace.", "dim"))
    if call.kind == "other" and call.convention is None and not view.messages:
        out.gap()
        out.line(Piece("No convention that Retrospan reads describes this span: what it means is not known. ", "dim"),
                 Piece("2", "key"), Piece(" (Attributes) shows all that was recorded of it.", "dim"))  # fmt: skip
    return out.document(one_line(call.name))


_GIVEN: Final = re.compile(r"(t\d+\.)?(i\d.*|a|arguments|input)")


def is_given(key: str | None) -> bool:
    """Whether a block, here or of the thread, shows what a call was given rather than what it gave."""
    return key is not None and _GIVEN.fullmatch(key) is not None


def _head(out: Builder, view: Conversation) -> None:
    call = view.call
    pieces = [told(_title(call), KIND_STYLES[call.kind] or "strong", before=f"{GLYPHS[call.kind]} ")]
    took = call.duration_ns
    pieces.append(Piece(f"   {duration(took)}" if took is not None else "   unfinished", "dim"))
    if tokens := tokens_text(call.usage):
        pieces.append(Piece(f"   {tokens}", "dim"))
    if call.usage.cost_nano_usd is not None:
        saved = "saved " if call.is_replayed else ""
        pieces.append(Piece(f"   {saved}{cost(call.usage.cost_nano_usd)}", "dim"))
    out.title(*pieces)
    if (computed := computed_cost(call)) is not None:
        by = f"{cost(computed.nano_usd)} by {computed.prices} for {computed.price_date}, not recorded"
        out.line(told(by, "dim"), hang=2)
    if served := call.served_by:
        said = {"journal": "answered from the recording", "reused": "answered again from the recording",
                "live": "run for real", "supplied": "supplied by hand",
                "none": "not answered: the replay stopped here"}.get(served, served)  # fmt: skip
        out.line(told(said, "good" if served == "journal" else "warning"))
    if call.kind == "llm" and view.carried is not None:
        _compared(out, view.carried, view.grown_tokens)
    if len(view.growth) > 1:
        first, last = view.growth[0], view.growth[-1]
        said = f"  {count(first)} → {count(last)} tok over {plural(len(view.growth), 'call')} of this agent"
        out.line(Piece("context ", "dim"), Piece(sparkline(view.growth), "llm"), Piece(said, "dim"))


def _compared(out: Builder, carried: Carried, grown_tokens: int | None) -> None:
    """What the call took over from the one before it, and what that one was given and this one not."""
    grown = "" if grown_tokens is None else f", {grown_tokens:+,} input tokens since the previous call"
    if carried.kept:
        said = f"{plural(carried.kept, 'message')} carried over, {sum(carried.is_new):,} new (+){grown}"
        out.line(Piece(said, "dim"))
    if not carried.kept or not carried.gone:
        return
    lines = []
    for message in carried.gone:
        style = _ROLES.get(message.role, "strong")
        lines.append(Line((told(message.role, style, "(no role)", before="- "), Piece("  "), _gist(message)), 2, 4))
    head = f"{plural(len(carried.gone), 'message')} of the previous call not sent any more (-)"
    out.folded("gone", Line((Piece(head, "warning"),)), lines)


def _gist(message: Message) -> Piece:
    """A message on one line."""
    said = []
    for part in message.parts:
        match part:
            case TextPart(content) | ReasoningPart(content):
                said.append(content)
            case ToolCallPart(_, name, arguments):
                said.append(f"▲ {name} {json_text(arguments)}")
            case ToolCallResponsePart(_, response):
                said.append(f"↳ {response if isinstance(response, str) else json_text(response)}")
            case BlobPart() | OtherPart():
                said.append("▣")
    return Piece(one_line("  ".join(said), "(empty)"))


def _settings(out: Builder, call: Call) -> None:
    """What a model call was given beside its messages: parameters on one line, tools by name, definitions folded."""
    if call.parameters:
        shown = []
        for i, (name, value) in enumerate(call.parameters.items()):
            shown += [told(name, before=" · " if i else "", after=" "), json_piece(value)]
        out.line(Piece("parameters ", "dim"), *shown, hang=11)
    if call.output_schema is not None:
        out.folded("schema", Line((Piece("answer must fit ", "dim"), Piece("a JSON schema"))),
                   json_lines(call.output_schema, 2), "its definition")  # fmt: skip
    tools = call.tool_definitions
    if not tools:
        return
    names = [told(tool.name, "tool", before=", " if i else "") for i, tool in enumerate(tools)]
    lines: list[Line] = []
    for tool in tools:
        about = told(tool.description, before="  ") if tool.description else Piece("")
        lines.append(Line((told(tool.name, "tool", before="▲ "), about), 2, 2))
        if tool.parameters:
            lines.extend(json_lines(tool.parameters, 4))
    out.folded("tools", Line((Piece("tools offered ", "dim"), *names), 0, 14), lines,
               plural(len(tools), "tool definition"))  # fmt: skip


def _title(call: Call) -> str:
    match call.kind:
        case "llm":
            return " · ".join(text for text in (call.model or call.name, call.provider) if text)
        case "tool":
            return call.tool_name or call.name
        case "agent":
            return call.agent_name or call.name
        case _:
            return call.name


def tokens_text(usage: Usage) -> str:
    """``1.2k → 48 tok (900 cached)``; empty where nothing is known."""
    if usage.input_tokens is None and usage.output_tokens is None:
        return ""
    text = f"{count(usage.input_tokens)} → {count(usage.output_tokens)} tok"
    extra = []
    if usage.cached_tokens:
        extra.append(f"{count(usage.cached_tokens)} cached")
    if usage.cache_write_tokens:
        extra.append(f"{count(usage.cache_write_tokens)} written to the cache")
    if usage.reasoning_tokens:
        extra.append(f"{count(usage.reasoning_tokens)} reasoning")
    return f"{text} ({', '.join(extra)})" if extra else text


def _finish(call: Call) -> tuple[Piece, ...]:
    named = ", ".join(reason for reason in call.finish_reasons or () if reason.strip())
    return (told(named, "dim", before="   stopped: "),) if named else ()


def _message(out: Builder, key: str, shown: MessageView) -> None:
    message = shown.message
    out.gap()
    style = _ROLES.get(message.role, "strong")
    sign = {True: "+ ", False: "  ", None: ""}[shown.is_new]
    role = told(message.role, style, "(no role)")
    head = [Piece(sign, "added"), role] if sign else [role]
    if message.name:
        head.append(told(message.name, "dim", before=" "))
    if shown.is_new:
        head.append(Piece("  new in this call", "dim"))
    out.title(*head)
    for i, part in enumerate(message.parts):
        _part(out, f"{key}.{i}", part, style if message.role == "system" else "")
    if not message.parts:
        out.line(Piece("(empty)", "dim"), indent=2)


def message_lines(out: Builder, key: str, shown: MessageView, indent: int) -> None:
    """Add a message to a document, further to the right."""
    inner = Builder()
    _message(inner, key, shown)
    for block in inner.document().blocks:
        lines = tuple(replace(line, indent=line.indent + indent) for line in block.lines)
        out.add(replace(block, lines=lines))


def value_lines(out: Builder, key: str, name: str, value: Json, indent: int) -> None:
    """Add a named value to a document: on one line where it is short, else the value below its name."""
    parsed = parse_json_text(value)
    lines = json_lines(parsed, indent + 2)
    if isinstance(parsed, str):
        out.text(key, parsed, indent=indent, first=(Piece(name, "tool"),))
    elif len(lines) == 1:
        out.body(key, [Line((Piece(name, "tool"), *lines[0].pieces), indent, 2)])
    else:
        out.title(Piece(name, "tool"), indent=indent)
        out.body(key, lines, Original(parsed))


def _part(out: Builder, key: str, part: Part, style: Style) -> None:
    match part:
        case TextPart(content):
            _text(out, key, content, style)
        case ReasoningPart(content):
            out.text(key, content, style="reasoning", indent=2, first=(Piece("thinking: ", "dim"),))
        case ToolCallPart(id_, name, arguments):
            _named(out, key, told(name, "tool", before="▲ ", after=" "), arguments, id_)
        case ToolCallResponsePart(id_, response):
            _named(out, key, Piece("↳ ", "tool"), response, id_)
        case BlobPart() | OtherPart() if (media := media_of(part)) is not None:
            what = told(media.mime_type, "dim", "file", before="▣ ", after=f", {size(media.size_bytes)}")
            out.line(what, told(media.name, "dim", before=", ") if media.name else Piece(""), indent=2)
        case OtherPart(type_, data):
            out.line(told(type_, "dim", before="? ", after=" (a kind of part this version does not know)"), indent=2)
            out.json(key, dict(data), indent=4)


def _text(out: Builder, key: str, content: str, style: Style) -> None:
    if not content:
        out.line(Piece("(empty text)", "dim"), indent=2)
        return
    value = parse_json_text(content)
    if isinstance(value, dict | list) and value:
        out.json(key, value, indent=2)
    else:
        out.text(key, content, style=style, indent=2)


def _named(out: Builder, key: str, name: Piece, value: Json, call_id: str | None) -> None:
    """A tool call or its answer: on one line where it is short, else the value below."""
    tail = told(call_id, "dim", before="  ") if call_id else Piece("")
    parsed = parse_json_text(value)
    lines = json_lines(parsed, 4)
    if isinstance(parsed, str):
        out.text(key, parsed, indent=2, first=(name, told(call_id, "dim", after="  ")) if call_id else (name,))
    elif len(lines) == 1:
        out.body(key, [Line((name, *lines[0].pieces, tail), 2)])
    else:
        out.line(name, tail, indent=2)
        out.body(key, lines, Original(parsed))


def _plain_values(out: Builder, call: Call) -> None:
    """Arguments, input and result of calls that are no model turns."""
    if call.arguments is not None:
        out.heading("arguments")
        _value(out, "arguments", call.arguments)
    if call.input is not None:
        out.heading("input")
        _value(out, "input", call.input)
    if call.has_result:
        out.heading("result")
        _value(out, "result", call.result)
    elif call.kind == "tool" and call.error is None:
        out.gap()
        out.line(Piece("The result was not recorded in this trace.", "dim"))


def _value(out: Builder, key: str, value: Json) -> None:
    parsed = parse_json_text(value)
    if isinstance(parsed, str):
        out.text(key, parsed, indent=2)
    else:
        out.json(key, parsed, indent=2)


def summary(call: Call) -> str:
    """A call's answer on one line, for rows that show many calls."""
    if call.error is not None:
        return f"✗ {one_line(call.error.type)}: {one_line(call.error.message, '')}"
    if call.kind == "llm":
        parts = [part for message in call.output_messages or () for part in message.parts]
        named = [f"▲ {one_line(part.name)}" for part in parts if isinstance(part, ToolCallPart)]
        texts = [one_line(part.content, "") for part in parts if isinstance(part, TextPart)]
        return "  ".join([*named, *texts])
    return json_text(call.result) if call.has_result else ""
