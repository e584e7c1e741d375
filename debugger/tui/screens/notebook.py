"""The notebook on the screen: go to what was pinned, write, edit, move, delete, export."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from ...analysis.markdown import notebook_markdown
from ...analysis.notebook_view import notebook_document
from ...analysis.problem import problem_document, problem_of
from ...analysis.text import one_line, plural
from ...store.notebook import Note, Notebook
from ..keymap import bindings
from ..latest import EachInTurn
from ..widgets.drawn import Drawable, OneLine, Run
from ..widgets.key_line import KeyLine
from ..widgets.line_view import LineView
from .base import PaneScreen
from .editor import EditorScreen


class NoteEditor(EditorScreen[str | None]):
    """Answers with the text of a note, or None.

    Args:
        title: what is written.
        text: what stands there.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("note")

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self.title_text = "Note"
        self._about = title
        self._text = text

    def on_mount(self) -> None:
        """Show what stands there."""
        self.say_above(self._about, "strong")
        self.area.recorded = self._text
        self.area.focus()

    def action_done(self) -> None:
        """Keep it."""
        self.dismiss(self.area.recorded.strip("\n"))


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be done to the notebook before it is read again."""

    what: Literal["read", "add", "edit", "delete", "move"] = "read"
    note_id: int = 0
    text: str = ""
    by: int = 0


class NotebookScreen(PaneScreen):
    """All notes.

    Args:
        notebook: what is shown.
        go_to: called with the trace and span of the note that the user went to; False where they are not there.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("notebook")

    def __init__(self, notebook: Notebook, go_to: Callable[[str, str], bool]) -> None:
        super().__init__()
        self._notebook = notebook
        self._go_to = go_to
        self.notes: Sequence[Note] = ()
        self._doomed = 0
        self._change: EachInTurn[Change, list[Note]] = EachInTurn(self, "notebook", self._do, self._show, self._failed)

    def compose(self) -> ComposeResult:  # noqa: D102
        yield OneLine(id="header")
        yield LineView(id="notebook")
        yield KeyLine(id="keys")

    @property
    def view(self) -> LineView:
        """The notes."""
        return self.query_one(LineView)

    def help_nodes(self) -> Sequence[object]:
        """The screen's keys, and those of the text."""
        return [self, self.view, self.app]

    def header(self) -> Iterable[Drawable]:
        """How much there is, and where."""
        yield Run(" notebook", "strong")
        yield Run(f"   {plural(len(self.notes), 'note')}", "dim")

    def header_right(self) -> Iterable[Drawable]:
        """The file."""
        yield Run(f"{one_line(self._notebook.path.name)} ", "dim")

    def offered(self, binding: Binding) -> Binding | None:
        """Enter goes to a span."""
        return None if binding.id in ("text.unfold", "text.unfold_all") else super().offered(binding)

    def on_mount(self) -> None:
        """Read the notes."""
        self.view.focus()
        self._change.ask(Change())

    def _do(self, change: Change) -> list[Note]:
        match change.what:
            case "add":
                title = next((line for line in change.text.splitlines() if line.strip()), "note")[:80]
                self._notebook.add(Note(kind="note", title=title, body=change.text))
            case "edit":
                self._notebook.edit(change.note_id, change.text)
            case "delete":
                self._notebook.delete(change.note_id)
            case "move":
                self._notebook.move(change.note_id, change.by)
            case "read":
                pass
        return self._notebook.notes()

    def _show(self, change: Change, notes: list[Note]) -> None:
        self.notes = notes
        self.view.show(notebook_document(notes, self.key("trace.pin"), self.key("notebook.add")), keep=True)
        if change.what == "add" and notes:
            self.view.go_to_block(f"note{notes[-1].note_id}")
        elif change.what == "move":
            self.view.go_to_block(f"note{change.note_id}")
        self.draw_header()

    def _failed(self, _: Change, error: Exception) -> None:
        self.view.show(problem_document(problem_of(error, "the notebook could not be used")))

    @property
    def selected(self) -> Note | None:
        """The note under the cursor."""
        key = self.view.block_key
        return next((note for note in self.notes if f"note{note.note_id}" == key), None)

    # Keys.

    def action_open_span(self) -> None:
        """Go to the span of the note."""
        note = self.selected
        if note is None or not note.trace_id:
            self.say("This note is about no span.")
        elif self._go_to(note.trace_id, note.span_id):
            return
        else:
            self.say("Its trace is not among those that are open.", warning=True)

    def action_add(self) -> None:
        """Write a note."""
        self.app.push_screen(NoteEditor("a note of your own", ""), self._added)

    def _added(self, text: str | None) -> None:
        if text:
            self._change.ask(Change("add", text=text))

    def action_edit(self) -> None:
        """Edit the text of the note."""
        note = self.selected
        if note is None:
            return

        def edited(text: str | None) -> None:
            if text is not None:
                self._change.ask(Change("edit", note.note_id, text))

        self.app.push_screen(NoteEditor(note.title, note.body), edited)

    def action_delete(self) -> None:
        """Delete the note, once the key was pressed twice."""
        note = self.selected
        if note is None:
            return
        if self._doomed != note.note_id:
            self._doomed = note.note_id
            self.say(f"{self.key('notebook.delete')} once more deletes this note.", warning=True)
        else:
            self._doomed = 0
            self._change.ask(Change("delete", note.note_id))

    def action_move(self, by: int) -> None:
        """Move the note down or up."""
        if self.selected is not None:
            self._change.ask(Change("move", self.selected.note_id, by=by))

    def action_export(self) -> None:
        """Write all notes as Markdown."""
        if self.notes:
            self.write_text("notebook", notebook_markdown(self.notes), ".md")
        else:
            self.say("There is nothing to export yet.")

    def action_back(self) -> None:
        """Back."""
        self.dismiss()
