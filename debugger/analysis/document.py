"""A document: lines of styled pieces in foldable blocks, which is all that a detail pane draws.

Every text in it is already harmless (see ``text``), so a viewer only wraps and colours. Styles are words of
``Style``; what they look like is the viewer's affair.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import dedent
from typing import Literal, TypeAlias

from runtime.messages import Json

from .text import NO_NAME, broken, one_line, plural, visible, with_escapes

Style: TypeAlias = Literal[
    "", "dim", "strong", "heading", "key", "string", "number", "error", "warning", "good", "removed", "added",
    "system", "user", "assistant", "tool", "agent", "llm", "retriever", "reasoning", "fold",
]  # fmt: skip
"""What a piece of text is; the viewer maps it to a look."""

FOLD_LINES = 24
"""Lines of a long text that show before it is unfolded."""

FOLD_CHARACTERS = 4_000
"""A text with few but endless lines folds after this many characters."""


LINE_LIMIT = 2_000
"""Longer lines are shown as several."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some text in one style."""

    text: str
    style: Style = ""
    source: str | None = None
    """What the trace has, where ``text`` only stands for it."""

    @property
    def original(self) -> str:
        """The piece as it is copied."""
        return with_escapes(self.text if self.source is None else self.source)


def told(text: str | None, style: Style = "", empty: str = NO_NAME, *, before: str = "", after: str = "") -> Piece:
    """A name or short text of the trace on one line, between words of our own."""
    shown = one_line(text, empty)
    source = None if shown == text or not text else f"{before}{text}{after}"
    return Piece(f"{before}{shown}{after}", style, source)


def told_lines(text: str, style: Style = "", *, before: str = "", after: str = "") -> list[Piece]:
    """A longer text of the trace, a piece for each of its lines."""
    made = []
    for raw in broken(text):
        shown = visible(raw.replace("\t", "    "))
        source = None if shown == raw else f"{before}{raw}{after}"
        made.append(Piece(f"{before}{shown}{after}", style, source))
    return made


@dataclass(frozen=True, slots=True)
class Line:
    """One line before wrapping."""

    pieces: tuple[Piece, ...] = ()
    indent: int = 0
    """Cells to the left, also of the rows that wrapping adds."""
    hang: int = 0
    """More cells to the left of the rows that wrapping adds."""
    fold: Literal[-1, 0, 1] = 0
    """1 begins and -1 ends what can be folded into one line, within its block; such pairs may nest."""
    is_title: bool = False
    """Names what stands below it and is itself no text that was recorded."""

    @property
    def text(self) -> str:
        """The line as plain text, without its indent."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def original(self) -> str:
        """The line as it is copied, without its indent."""
        return "".join(piece.original for piece in self.pieces)


EMPTY = Line()


@dataclass(frozen=True, slots=True)
class Original:
    """The value of a trace that a block shows: what is copied in place of the block's lines."""

    value: Json
    lead: str = ""
    """What stands before it on its first line, for a copy of everything."""

    @property
    def text(self) -> str:
        """The value alone: a text as it was recorded, anything else as JSON."""
        if isinstance(self.value, str):
            return with_escapes(self.value)
        try:
            return with_escapes(json.dumps(self.value, ensure_ascii=False, indent=2, default=_not_json))
        except (ValueError, RecursionError):
            return json_text(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Lines that belong together. A block with ``shown`` below its length folds."""

    key: str
    """Names the block within its document, so that unfolding survives a refresh."""
    lines: tuple[Line, ...]
    shown: int | None = None
    """Lines that show while folded; None for a block that does not fold."""
    source: Original | None = None
    """What the lines show, where they show one value."""
    what: str = ""
    """What is hidden while it is folded, where "more lines" would say too little."""

    @property
    def folds(self) -> bool:
        """True when folding hides something."""
        return self.shown is not None and self.shown < len(self.lines)

    @property
    def original(self) -> str:
        """The block as it is copied: the recorded value alone where it shows one."""
        return dedent(self._original_lines()).strip("\n") if self.source is None else self.source.text

    def _original_lines(self) -> str:
        return "\n".join(" " * line.indent + line.original for line in self.lines)

    @property
    def original_in_place(self) -> str:
        """The block as it stands in a copy of everything."""
        return self._original_lines() if self.source is None else self.source.lead + self.source.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a detail pane shows."""

    blocks: tuple[Block, ...] = ()
    title: str = ""

    @property
    def text(self) -> str:
        """Everything as plain text, unfolded: for tests and for a terminal without a screen."""
        return "\n".join(" " * line.indent + line.text for block in self.blocks for line in block.lines)

    @property
    def original(self) -> str:
        """Everything as it is copied: values as they were recorded, only their control characters as escapes."""
        return "\n".join(block.original_in_place for block in self.blocks)


@dataclass(slots=True)
class Builder:
    """Collects lines and blocks; ``document`` closes it."""

    name: str = ""
    """Of the document that the blocks are for, where several become one."""
    blocks: list[Block] = field(default_factory=list)
    _lines: list[Line] = field(default_factory=list)

    def line(self, *pieces: Piece | str, indent: int = 0, hang: int = 0) -> None:
        """Add a line to the open block; plain strings are trusted text of our own."""
        made = tuple([Piece(piece) if isinstance(piece, str) else piece for piece in pieces])
        self._lines.append(Line(made, indent, hang))

    def title(self, *pieces: Piece, indent: int = 0) -> None:
        """Add a line to the open block that names what stands below it."""
        self._lines.append(Line(pieces, indent, is_title=True))

    def gap(self) -> None:
        """Add an empty line, unless nothing stands above it."""
        if self._lines or self.blocks:
            self._lines.append(EMPTY)

    def heading(self, text: str | Piece, *more: Piece) -> None:
        """A heading with an empty line above it."""
        self.gap()
        self.title(replace(text, style="heading") if isinstance(text, Piece) else Piece(text, "heading"), *more)

    def pair(self, key: str, value: str | None, *, style: Style = "", indent: int = 0, width: int = 14) -> None:
        """``key   value`` on one line."""
        name = told(key)
        padding = " " * max(width - len(name.text) + 1, 1)
        self.line(replace(name, style="key"), Piece(padding), told(value, style), indent=indent, hang=width + 1)

    def text(self, key: str, text: str, *, style: Style = "", indent: int = 0, first: tuple[Piece, ...] = ()) -> None:
        """Add a text of any length as a block of its own that folds when long."""
        pieces = told_lines(text, style)
        lines = [Line((*first, pieces[0]), indent), *(Line((piece,), indent) for piece in pieces[1:])]
        self.body(key, lines, Original(text, "".join(piece.original for piece in first)))

    def json(self, key: str, value: Json, *, indent: int = 0) -> None:
        """Add a JSON value, pretty, as a block of its own that folds when long."""
        self.body(key, json_lines(value, indent), Original(value))

    def body(self, key: str, lines: Iterable[Line], source: Original | None = None) -> None:
        """Add lines as a block of their own that folds when long; ``source`` is the value that they show."""
        self.close()
        made = tuple(part for line in lines for part in _chunks(line))
        self.blocks.append(Block(key=key, lines=made, shown=fold_at(made), source=source))

    def folded(self, key: str, head: Line, lines: Sequence[Line], what: str = "") -> None:
        """Add lines as a block of their own of which only the head and a word for the rest show, however few."""
        self.close()
        made = tuple(part for line in (head, *lines) for part in _chunks(line))
        self.blocks.append(Block(key=key, lines=made, shown=1, what=what))

    def put(self, line: Line) -> None:
        """Add a line that is made already to the open block."""
        self._lines.append(line)

    def put_blocks(self, blocks: Iterable[Block]) -> None:
        """Add blocks of a named builder as they are."""
        self.close()
        self.blocks.extend(blocks)

    def add(self, block: Block) -> None:
        """Add a block of another document; plain lines join the open block."""
        if block.key.startswith("#"):
            self._lines.extend(block.lines)
        else:
            self.close()
            self.blocks.append(block)

    def close(self) -> None:
        """End the open block of plain lines."""
        if self._lines:
            self.blocks.append(Block(key=f"#{self.name}{len(self.blocks)}", lines=tuple(self._lines)))
            self._lines = []

    def document(self, title: str = "") -> Document:
        """The finished document."""
        self.close()
        return Document(blocks=tuple(self.blocks), title=title)


def _chunks(line: Line) -> Iterable[Line]:
    """The line in parts of bounded length, so that a megabyte without a break can fold and wraps piecemeal."""
    if sum(len(piece.text) for piece in line.pieces) <= LINE_LIMIT:
        yield line
        return
    for piece in line.pieces:
        for start in range(0, max(len(piece.text), 1), LINE_LIMIT):
            end = start + LINE_LIMIT
            is_end = end >= len(piece.text)
            source = None if piece.source is None else piece.source[start : None if is_end else end]
            part = Piece(piece.text[start:end], piece.style, source)
            # A name of thousands of characters before a { still folds: its last part does.
            is_last = piece is line.pieces[-1] and is_end
            yield Line((part,), line.indent, fold=line.fold if is_last else 0, is_title=line.is_title)


def fold_at(lines: tuple[Line, ...]) -> int | None:
    """Where a block of these lines folds, or None when it is short enough to show whole."""
    if len(lines) <= 1:
        return None
    characters = 0
    for i, line in enumerate(lines):
        characters += sum(len(piece.text) for piece in line.pieces)
        if characters > FOLD_CHARACTERS:
            return max(min(i, FOLD_LINES), 1)
    # A fold that would hide only a few lines is more trouble than they are.
    return FOLD_LINES if len(lines) > FOLD_LINES + 4 else None


def unfolded(
    block: Block, *, is_open: bool = False, closed: frozenset[int] = frozenset(), key: str = "enter"
) -> list[tuple[Line, int]]:
    """The lines of a block that show, each with its place in it, given what is open and closed.

    A folded block ends with a line that says how much is hidden; its place is -1.

    Args:
        block: all of it.
        is_open: whether it is unfolded.
        closed: places of lines that begin something which is folded into them.
        key: what unfolds a block.
    """
    lines: Sequence[Line] = block.lines
    is_cut = block.folds and not is_open
    if is_cut:
        lines = lines[: block.shown]
    out = list(_without_closed(lines, closed)) if closed else [(line, i) for i, line in enumerate(lines)]
    if is_cut:
        hidden = len(block.lines) - len(lines)
        what = f"▸ {block.what}, {plural(hidden, 'line')}" if block.what else f"▾ {plural(hidden, 'more line')}"
        out.append((Line((Piece(f"{what} ({key} shows them)", "fold"),), block.lines[0].indent), -1))
    elif block.folds:
        out.append((Line((Piece("▴ fold", "fold"),), block.lines[-1].indent), -1))
    return out


def _without_closed(lines: Sequence[Line], closed: frozenset[int]) -> Iterable[tuple[Line, int]]:
    """The lines of a block, with what is folded in it as one line each."""
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.fold != 1 or at not in closed:
            yield line, at
            at += 1
            continue
        end = fold_end(lines, at)
        tail = lines[end].text if end < len(lines) else ""
        said = Piece(f" … {plural(end - at - 1, 'line')} … ", "fold")
        yield Line((*line.pieces, said, Piece(tail)), line.indent, line.hang, 1), at
        at = end + 1


def fold_end(lines: Sequence[Line], start: int) -> int:
    """Where what begins at a line ends; the number of lines where its end is cut off."""
    depth = 0
    for at in range(start, len(lines)):
        depth += lines[at].fold
        if not depth:
            return at
    return len(lines)


def json_lines(value: Json, indent: int = 0) -> list[Line]:
    """A JSON value over several lines, two cells deeper per level, keys and values told apart.

    Small objects and lists stay on one line. Texts with line breaks show them as breaks, since prompts and documents
    are read, not parsed.
    """
    out: list[Line] = []
    _json_into(out, value, indent, (), "", 0)
    return out


_ONE_LINE_JSON = 60


def _json_into(out: list[Line], value: Json, indent: int, before: tuple[Piece, ...], after: str, depth: int) -> None:
    if depth > 60:
        out.append(Line((*before, json_piece(value, "string"), Piece(after)), indent))
    elif isinstance(value, Mapping) and value and not _is_short(value):
        out.append(Line((*before, Piece("{")), indent, fold=1))
        last = len(value) - 1
        for i, (name, item) in enumerate(value.items()):
            lead = (json_piece(str(name), "key"), Piece(": "))
            _json_into(out, item, indent + 2, lead, "," if i < last else "", depth + 1)
        out.append(Line((Piece("}" + after),), indent, fold=-1))
    elif isinstance(value, list | tuple) and value and not _is_short(value):
        out.append(Line((*before, Piece("[")), indent, fold=1))
        for i, item in enumerate(value):
            _json_into(out, item, indent + 2, (), "," if i < len(value) - 1 else "", depth + 1)
        out.append(Line((Piece("]" + after),), indent, fold=-1))
    elif isinstance(value, str) and "\n" in value:
        out.append(Line((*before, Piece('"""', "string")), indent))
        out.extend(Line((piece,), indent + 2) for piece in told_lines(value, "string"))
        out.append(Line((Piece('"""', "string"), Piece(after)), indent))
    else:
        out.append(Line((*before, json_piece(value, _json_style(value)), Piece(after)), indent))


def _is_short(value: Json) -> bool:
    """Flat and small enough for one line."""
    items = value.values() if isinstance(value, Mapping) else value
    if len(value) > 8:
        return False
    length = 2
    for item in items:
        if isinstance(item, Mapping | list | tuple):
            return False
        length += len(item) + 4 if isinstance(item, str) else 6
        if isinstance(item, str) and "\n" in item:
            return False
    if isinstance(value, Mapping):
        length += sum(len(str(name)) + 4 for name in value)
    return length <= _ONE_LINE_JSON


def _json_style(value: Json) -> Style:
    if isinstance(value, str):
        return "string"
    return "number" if isinstance(value, int | float) or value is None else ""


def json_text(value: Json) -> str:
    """A JSON value on one line, made visible; what is not JSON shows as Python would print it."""
    return visible(json_source(value))


def json_piece(value: Json, style: Style = "") -> Piece:
    """A JSON value on one line."""
    source = json_source(value)
    return Piece(visible(source), style, source)


def json_source(value: Json, indent: int | None = None) -> str:
    """A JSON value as it is, on one line or, with an indent, on several; what is not JSON as Python would print it."""
    if isinstance(value, bytes):
        return f"{plural(len(value), 'byte')}: {value[:32].hex(' ')}{' …' if len(value) > 32 else ''}"
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, default=_not_json)
    except (ValueError, RecursionError):
        return "[cycle]"


def _not_json(value: object) -> str:
    if isinstance(value, bytes):
        return json_text(value)
    return repr(dict(value)) if isinstance(value, Mapping) else repr(value)
