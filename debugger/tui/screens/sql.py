"""The SQL console: a query, how it can go on, what can be asked, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from ...analysis.document import Document
from ...analysis.filter_language import Completion
from ...analysis.problem import problem_document, problem_of
from ...analysis.sql_completion import SqlNames, complete_sql
from ...analysis.sql_view import ResultView, plan_document, row_document, sql_problem_document, target_of
from ...analysis.text import duration, one_line, plural
from ...errors import QueryCancelledError, SqlError
from ...store.examples import example_queries
from ...store.result_files import ENDINGS
from ..keymap import bindings
from ..latest import EachInTurn, Latest
from ..query_book import Queries, QueryBook
from ..session import Session
from ..widgets.drawn import Drawable, OneLine, Run
from ..widgets.key_line import KeyLine
from ..widgets.line_view import LineView
from ..widgets.result_table import ResultTable
from ..widgets.sql_edit import SqlEdit
from ..widgets.sql_lists import QueryList, SchemaList
from .base import PaneScreen, new_file
from .files import FileScreen, NameScreen
from .notes import NotesScreen

NARROW = 110
"""Below this many cells the views and columns have the screen for themselves."""
_TICK_S = 0.1
_OFFERED = 30
"""Candidates of a completion that are shown."""

Lower: TypeAlias = Literal["queries", "result", "page"]


@dataclass(frozen=True, slots=True)
class BookChange:
    """What is to be done to the remembered queries before they are read."""

    what: Literal["read", "save", "delete", "asked"] = "read"
    name: str = ""
    text: str = ""


class SqlScreen(PaneScreen):
    """Asks what is loaded in SQL.

    Args:
        session: everything behind the screen.
        book: remembers queries.
        go_to: opens a span of a trace, or the trace where the span is empty; False where it is not listed.
        clock: seconds.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("sql")

    def __init__(
        self, session: Session, book: QueryBook, go_to: Callable[[str, str], bool], clock: Callable[[], float]
    ) -> None:
        super().__init__()
        self._session = session
        self._book = book
        self._go_to = go_to
        self._clock = clock
        self._names = SqlNames()
        self._queries = Queries()
        self._lower: Lower = "queries"
        self._began = 0.0
        self._stopping = False
        self._answered = ""
        """The query whose result is shown."""
        self._status: tuple[Drawable, ...] = ()
        self._ask: Latest[str, ResultView] = Latest(self, "sql", session.sql.ask, self._show, self._not_answered)
        self._write: Latest[tuple[str, Path, bool], int] = Latest(
            self, "sql-write", self._write_now, self._written, self._not_written
        )
        self._read_names: Latest[None, SqlNames] = Latest(
            self, "sql-names", lambda _: session.sql.names(), self._show_names, self._no_names
        )
        self._remember: EachInTurn[BookChange, Queries] = EachInTurn(
            self, "sql-book", self._change_book, self._show_queries, self._no_queries
        )

    def compose(self) -> ComposeResult:  # noqa: D102
        yield OneLine(id="header")
        with Horizontal(id="sql-panes"):
            with Vertical(id="sql-main"):
                yield SqlEdit(self._complete, self._older, id="query")
                yield OneLine(id="sql-hint")
                yield OneLine(id="sql-status")
                yield OneLine(id="columns")
                yield QueryList(id="queries")
                yield ResultTable(id="result-rows")
                yield LineView(id="page")
            with Vertical(id="sql-side"):
                yield SchemaList(id="schema")
        yield KeyLine(id="keys")

    # Parts.

    @property
    def edit(self) -> SqlEdit:
        """The query."""
        return self.query_one(SqlEdit)

    @property
    def table(self) -> ResultTable:
        """The rows of the last result."""
        return self.query_one(ResultTable)

    @property
    def page(self) -> LineView:
        """A plan, or why there is no result."""
        return self.query_one("#page", LineView)

    @property
    def lower(self) -> Widget:
        """What stands below the query."""
        return {"queries": self.query_one(QueryList), "result": self.table, "page": self.page}[self._lower]

    @property
    def is_busy(self) -> bool:
        """A query runs, or its rows are written."""
        return self._ask.is_running or self._write.is_running

    def panes(self) -> Sequence[Widget]:
        """The query, what stands below it, the views."""
        return [self.edit, self.lower, self.query_one(SchemaList)]

    def help_nodes(self) -> Sequence[object]:
        """All panes, also those that are not shown just now."""
        return [self, self.edit, self.query_one(QueryList), self.table, self.page, self.query_one(SchemaList), self.app]

    def header(self) -> Iterable[Drawable]:
        """What is asked."""
        yield Run(" SQL", "strong")
        where = "the library" if self._session.is_library else "the traces of this session"
        yield Run(f"   {where}, read-only; no files, no network", "dim")

    def offered(self, binding: Binding) -> Binding | None:
        """Esc says what it does now."""
        if binding.id == "sql.back":
            return replace(binding, description="stop" if self.is_busy else "back")
        if binding.id == "sql.write" and self._lower != "result":
            return None
        return super().offered(binding)

    def on_mount(self) -> None:
        """Begin with the queries that can be chosen."""
        self._place(self.app.size.width)
        self._choose_lower("queries")
        self.edit.focus()
        self._remember.ask(BookChange())
        self._read_names.ask(None)
        self.set_interval(_TICK_S, self._tick)

    def on_unmount(self) -> None:
        """Nobody waits for the answer any more."""
        if self.is_busy:
            self._session.sql.stop()

    def on_resize(self) -> None:
        """One pane or two."""
        self._place(self.app.size.width)
        self.when_laid_out(self._draw)

    def _place(self, width: int) -> None:
        self.set_class(width < NARROW, "-narrow")

    def _choose_lower(self, lower: Lower) -> None:
        """Show one of the panes below the query."""
        self._lower = lower
        for name, widget in (("queries", QueryList), ("result", ResultTable)):
            self.query_one(widget).display = lower == name
        self.page.display = lower == "page"
        self._draw()

    def _draw(self) -> None:
        columns = self.query_one("#columns", OneLine)
        columns.display = self._lower == "result"
        columns.pieces = self.table.header_pieces()
        self.query_one("#sql-status", OneLine).pieces = self._status_pieces()
        self.offer_keys()

    def _status_pieces(self) -> tuple[Drawable, ...]:
        if not self.is_busy:
            return self._status
        took = duration(round((self._clock() - self._began) * 1e9))
        what = "stopping" if self._stopping else "writing" if self._write.is_running else "running"
        reading = self._session.sql.reading()
        read = "" if reading is None else f"   reading messages: {reading[0]:,} of {plural(reading[1], 'span')}"
        return (Run(f" {what}… {took}", "warning"), Run(read, "dim"))

    def _tick(self) -> None:
        """The time of a query that runs goes on, and one that has not heard is told again to stop."""
        if self.is_busy and self.is_current:
            if self._stopping:
                self._session.sql.stop()
            self.query_one("#sql-status", OneLine).pieces = self._status_pieces()

    def focus_pane(self, pane: Widget) -> None:
        """Where there is room for one pane only, show the one with the focus."""
        self.set_class(isinstance(pane, SchemaList), "-schema")
        super().focus_pane(pane)

    # The query.

    def _complete(self, text: str, place: int) -> Completion:
        return complete_sql(text, place, self._names)

    def _older(self, back: int) -> str | None:
        return self._queries.asked[back] if back < len(self._queries.asked) else None

    def on_sql_edit_moved(self) -> None:
        """Say how the query can go on."""
        offered = self.edit.completion
        pieces: list[Drawable] = [Run(" ")]
        if offered.hint:
            pieces.append(Run(f"{offered.hint}   ", "dim"))
        if offered.candidates:
            pieces.append(Run("tab ", "key"))
            pieces.append(Run("  ".join(map(one_line, offered.candidates[:_OFFERED])), "dim"))
        self.query_one("#sql-hint", OneLine).pieces = tuple(pieces)

    def on_sql_edit_asked(self) -> None:
        """Ask."""
        self.action_run()

    def action_run(self) -> None:
        """Ask the query."""
        text = self.edit.text.strip()
        if not text:
            self.say("Type a query, or choose one below.")
            return
        self.ask(text)

    def ask(self, text: str) -> None:
        """Ask a query, in place of one that runs."""
        if self._write.is_running:
            stops = f"{self.key('sql.back')} stops that"
            self.say(f"The rows of the last query are still being written; {stops}.", warning=True)
            return
        self._session.sql.stop()
        self._stopping = False
        self._began = self._clock()
        self.edit.forget_place()
        self._ask.ask(text)
        self._remember.ask(BookChange("asked", text=text))
        self._draw()

    # Answers.

    def _show(self, text: str, view: ResultView) -> None:
        took = duration(round((self._clock() - self._began) * 1e9))
        self._answered = text
        if view.is_plan:
            self._status = (Run(f" the plan, in {took}", "good"),)
            self._show_page(plan_document(view))
            return
        first = f" the first {plural(len(view.rows), 'row')}; to file writes all" if view.is_cut else ""
        self._status = (Run(first or f" {plural(len(view.rows), 'row')}", "good"), Run(f"  in {took}", "dim"))
        self.table.show(view)
        self._choose_lower("result")
        if view.rows and self.focused in (self.edit, self.query_one(QueryList)):
            self.focus_pane(self.table)

    def _show_page(self, document: Document) -> None:
        was_below = self.focused is self.lower
        self.page.show(document)
        self._choose_lower("page")
        if was_below:
            self.focus_pane(self.page)

    def _not_answered(self, text: str, error: Exception) -> None:
        self._stopping = False
        if isinstance(error, QueryCancelledError):
            self._status = (Run(" stopped", "warning"),)
            self._draw()
            return
        self._status = (Run(" not answered", "error"),)
        if isinstance(error, SqlError):
            self._show_page(sql_problem_document(error.reason, error.hint, text, error.line, error.column))
            if error.line is not None and error.column is not None and self.edit.text.strip() == text:
                lead = len(self.edit.text) - len(self.edit.text.lstrip())
                if not lead:
                    self.edit.move_cursor((error.line - 1, error.column - 1))
                self.focus_pane(self.edit)
        else:
            self._show_page(problem_document(problem_of(error, "this query was not answered")))

    def action_stop(self) -> None:
        """Stop what runs; where nothing does, the key means what it means everywhere."""
        if not self.is_busy:
            raise SkipAction
        self._stopping = True
        self._session.sql.stop()
        self._draw()

    def action_back(self) -> None:
        """Stop what runs, else back to the query, else to where the console was opened."""
        if self.is_busy:
            self.action_stop()
        elif self.focused is not self.edit:
            self.focus_pane(self.edit)
        else:
            self.dismiss()

    # Rows.

    def on_result_table_scrolled(self) -> None:
        """Other columns."""
        self._draw()

    def on_result_table_opened(self, event: ResultTable.Opened) -> None:
        """Open the span or trace that a row names, or show the row."""
        view = self.table.view
        target = None if event.whole else target_of(view, event.row)
        if target is not None and self._go_to(*target):
            return
        if target is not None:
            self.say("The trace of this row is not listed; here is the row.", warning=True)
        self.app.push_screen(NotesScreen(f"row {event.row + 1:,}", row_document(view, event.row)))

    def action_write(self) -> None:
        """Write all rows to a file."""
        if self._lower != "result" or self.is_busy:
            self.say("There is no result to write yet." if not self.is_busy else "The query still runs.")
            return
        proposed = new_file(Path(), "result", ".csv")

        def chosen(answer: tuple[Path, bool] | None) -> None:
            if answer is not None:
                self._began = self._clock()
                self._write.ask((self._answered, *answer))
                self._draw()

        self.app.push_screen(FileScreen("Write all rows", proposed, ENDINGS), chosen)

    def _write_now(self, job: tuple[str, Path, bool]) -> int:
        text, path, overwrites = job
        return self._session.sql.write(text, path, overwrites=overwrites)

    def _written(self, job: tuple[str, Path, bool], rows: int) -> None:
        self._draw()
        self.say(f"{plural(rows, 'row')} written to {job[1].absolute()}")

    def _not_written(self, _: tuple[str, Path, bool], error: Exception) -> None:
        self._stopping = False
        stopped = isinstance(error, QueryCancelledError)
        self.say("Stopped; nothing was written." if stopped else problem_of(error, "").sentence, warning=True)
        self._draw()

    # Queries to choose from.

    def _change_book(self, change: BookChange) -> Queries:
        match change.what:
            case "save":
                return self._book.save(change.name, change.text)
            case "delete":
                return self._book.delete(change.name)
            case "asked":
                return self._book.remember(change.text)
            case "read":
                return self._book.queries()

    def _show_queries(self, change: BookChange, queries: Queries) -> None:
        self._queries = queries
        self.query_one(QueryList).show(example_queries(), tuple(queries.saved.items()), queries.asked)
        if change.what == "save":
            self.say(f"Saved as {change.name}.")

    def _no_queries(self, _: BookChange, error: Exception) -> None:
        self.query_one(QueryList).show(example_queries(), (), self._queries.asked)
        problem = problem_of(error, "")
        self.say(f"{problem.sentence}; {problem.hint}" if problem.hint else problem.sentence, warning=True)

    def on_query_list_chosen(self, event: QueryList.Chosen) -> None:
        """Ask a query, or let it be changed first."""
        self.edit.put(event.text)
        if event.run:
            self.ask(event.text)
        else:
            self.focus_pane(self.edit)

    def on_query_list_doomed(self, event: QueryList.Doomed) -> None:
        """Delete a saved query, once the user is sure."""
        if event.is_sure:
            self._remember.ask(BookChange("delete", name=event.name))
        else:
            self.say(f"The same key once more deletes {event.name}.", warning=True)

    def action_queries(self) -> None:
        """Show the queries to choose from."""
        self._choose_lower("queries")
        self.focus_pane(self.lower)

    def action_save(self) -> None:
        """Save the query under a name."""
        text = self.edit.text.strip()
        if not text:
            self.say("There is no query to save.")
            return

        def named(name: str | None) -> None:
            if name is not None:
                self._remember.ask(BookChange("save", name=name, text=text))

        self.app.push_screen(NameScreen(self._queries.saved), named)

    # Views and columns.

    def _show_names(self, _: None, names: SqlNames) -> None:
        self._names = names
        self.query_one(SchemaList).show(names)
        self.on_sql_edit_moved()

    def _no_names(self, _: None, error: Exception) -> None:
        if not isinstance(error, QueryCancelledError):
            self.say(problem_of(error, "").sentence, warning=True)

    def on_schema_list_chosen(self, event: SchemaList.Chosen) -> None:
        """Put a name into the query."""
        self.edit.write_name(event.name)
        self.focus_pane(self.edit)

    def action_schema(self) -> None:
        """Go to the views and their columns, and back."""
        schema = self.query_one(SchemaList)
        self.focus_pane(self.edit if self.focused is schema else schema)
