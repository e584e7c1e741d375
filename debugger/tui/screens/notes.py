"""Pages of text: the help, the notes on the input, an error with a way on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from ...analysis.document import Builder, Document, Piece, told
from ...analysis.text import one_line, plural
from ...store.rows import IssueRow
from ..keymap import TITLES, Group, bindings, display, group_of
from ..widgets.drawn import Drawable, OneLine, Run
from ..widgets.key_line import KeyLine
from ..widgets.line_view import LineView
from .base import PaneScreen, own_bindings


class NotesScreen(PaneScreen):
    """One document, closed with Esc."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("notes")

    def __init__(self, title: str, document: Document) -> None:
        super().__init__()
        self.page_title = title
        self.document = document

    def compose(self) -> ComposeResult:  # noqa: D102
        yield OneLine(id="header")
        yield LineView(id="notes")
        yield KeyLine(id="keys")

    def header(self) -> Iterable[Drawable]:
        """The page's title."""
        return (Run(" Retrospan", "strong"), Run(f"   {one_line(self.page_title)}"))

    def on_mount(self) -> None:
        """Show the page."""
        view = self.query_one(LineView)
        view.show(self.document)
        view.focus()

    def action_back(self) -> None:
        """Close the page."""
        self.dismiss()


class HelpScreen(NotesScreen):
    """The keys of a screen. ``?`` closes it as well."""

    def __init__(self, nodes: Sequence[object]) -> None:
        super().__init__("keys", help_document(nodes))

    def action_help(self) -> None:
        """Close the help."""
        self.dismiss()


def help_document(nodes: Sequence[object]) -> Document:
    """The keys of some nodes and what they do, made from their bindings."""
    grouped: dict[Group, list[tuple[str, str]]] = {}
    for node in nodes:
        for binding in own_bindings(node):
            group = group_of(binding)
            if group is None:
                continue
            entry = (display(binding.key), binding.tooltip or binding.description)
            rows = grouped.setdefault(group, [])
            if entry not in rows:
                rows.append(entry)
    out = Builder()
    out.heading("signs")
    out.line(Piece("● agent  ", "agent"), Piece("◆ llm  ", "llm"), Piece("▲ tool  ", "tool"),
             Piece("■ retriever, embedding  ", "retriever"), Piece("○ chain  · other  "), Piece("✗ error  ", "error"),
             Piece("! odd  ", "warning"), Piece("◌ unfinished  ", "warning"), Piece("↺ replay", "good"),
             indent=2)  # fmt: skip
    for group in TITLES:
        if group not in grouped:
            continue
        out.heading(TITLES[group])
        for keys, sentence in grouped[group]:
            out.line(Piece(keys.ljust(12) + " ", "key"), Piece(sentence), indent=2, hang=13)
    return out.document("keys")


def issues_document(issues: Sequence[IssueRow], *, is_reading: bool = False) -> Document:
    """What was odd in the input, file by file; while it is read, what was found so far."""
    out = Builder()
    if is_reading:
        so_far = "" if issues else "; nothing odd was found so far"
        out.line(Piece(f"The input is still being read{so_far}. This page shows what is known now.", "warning"))
    if not issues and is_reading:
        return out.document()
    if not issues:
        out.line(Piece("Nothing odd was found in the input.", "good"))
        out.line(Piece("What is odd about a single span, such as its times, is marked with ! at the span.", "dim"))
        return out.document()
    out.line(Piece(f"{plural(len(issues), 'note')} on the input. What is named here was skipped or read with care; "
                   "everything else is loaded.", "dim"))  # fmt: skip
    path = None
    for issue in issues:
        if issue.path != path:
            path = issue.path
            out.heading(told(path))
        where = "      -" if issue.line is None else f"{issue.line:7,}"
        out.line(Piece(where, "number"), told(issue.reason, before="  "), indent=2, hang=9)
    return out.document()
