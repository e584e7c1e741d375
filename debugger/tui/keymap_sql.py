"""The keys of the SQL console and of the numbers: a part of the table in ``keymap``."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from textual.binding import Binding

SqlGroup: TypeAlias = Literal["sql", "query", "result", "queries", "schema", "file", "name", "numbers"]
"""A part of these screens with keys of its own."""


def key(id_: str, keys: str, action: str, label: str, sentence: str, *, show: bool = False) -> Binding:
    """A binding that says in a word and in a sentence what it does; with ``show`` the key line offers it."""
    return Binding(keys, action, label, show=show, tooltip=sentence, id=id_)


SQL_KEYS: Final[dict[SqlGroup, list[Binding]]] = {
    "query": [
        key("query.run", "enter", "run", "run", "Ask the query", show=True),
        key("query.complete", "tab", "complete", "complete", "Complete the word at the cursor with a view, a column, "
             "a function or a keyword; again: with the next one that fits; where nothing fits, go to the next pane",
             show=True),
        key("query.line", "ctrl+j,shift+enter", "new_line", "new line", "Begin a new line", show=True),
        key("query.older", "ctrl+up,alt+up", "history(1)", "older", "Put the query that was asked before here"),
        key("query.newer", "ctrl+down,alt+down", "history(-1)", "newer", "Put the query that was asked after it here"),
        key("query.up", "up", "cursor_up", "up", "One line up"),
        key("query.down", "down", "cursor_down", "down", "One line down; from the last one to the next pane"),
        key("query.left", "left", "cursor_left", "left", "One character to the left"),
        key("query.right", "right", "cursor_right", "right", "One character to the right"),
        key("query.word_left", "ctrl+left", "cursor_word_left", "word left", "One word to the left"),
        key("query.word_right", "ctrl+right", "cursor_word_right", "word right", "One word to the right"),
        key("query.home", "home,ctrl+a", "cursor_line_start", "line start", "To the start of the line"),
        key("query.end", "end", "cursor_line_end", "line end", "To the end of the line"),
        key("query.select_left", "shift+left", "cursor_left(True)", "select left", "Select to the left"),
        key("query.select_right", "shift+right", "cursor_right(True)", "select right", "Select to the right"),
        key("query.select_all", "f7", "select_all", "select all", "Select all"),
        key("query.rub", "backspace", "delete_left", "delete", "Delete to the left, or what is selected"),
        key("query.delete", "delete,ctrl+d", "delete_right", "delete right", "Delete to the right"),
        key("query.word", "ctrl+w", "delete_word_left", "delete word", "Delete the word to the left"),
        key("query.rest", "ctrl+k", "delete_to_end_of_line", "delete rest", "Delete the rest of the line"),
        key("query.empty", "ctrl+u", "empty", "delete all", "Delete everything typed"),
        key("query.undo", "ctrl+z", "undo", "undo", "Take the last change back"),
        key("query.redo", "ctrl+y", "redo", "redo", "Do it again"),
    ],
    "sql": [
        key("sql.back", "escape", "back", "stop / back", "Stop the query that runs; else back to the query, then to "
             "where you came from", show=True),
        key("sql.run", "f5,ctrl+r", "run", "run", "Ask the query, from any pane"),
        key("sql.queries", "ctrl+o", "queries", "queries", "Show queries to choose from: examples, saved ones, those "
             "that were asked before", show=True),
        key("sql.save", "ctrl+s", "save", "save", "Save the query under a name", show=True),
        key("sql.write", "ctrl+e", "write", "to file", "Write all rows of the result to a CSV, Parquet or JSON file",
             show=True),
        key("sql.schema", "ctrl+b", "schema", "columns", "Go to the views and their columns, and back", show=True),
        key("sql.stop", "ctrl+c", "stop", "stop", "Stop the query that runs"),
    ],
    "result": [
        key("result.open", "enter", "open", "open", "Open the span that the row names, or its trace; a row that names "
             "none is shown whole", show=True),
        key("result.row", "space,v", "row", "whole row", "Show the row under the cursor whole", show=True),
        key("result.left", "left,h", "column(-1)", "columns left", "Show the columns to the left"),
        key("result.right", "right,l", "column(1)", "columns right", "Show the columns to the right", show=True),
    ],
    "queries": [
        key("queries.run", "enter", "run_it", "run", "Ask the query under the cursor", show=True),
        key("queries.edit", "e", "edit", "edit", "Put the query under the cursor where it can be changed", show=True),
        key("queries.delete", "d", "delete", "delete", "Delete the saved query under the cursor; asks first",
             show=True),
    ],
    "schema": [
        key("schema.insert", "enter", "insert", "insert", "Put the name under the cursor into the query", show=True),
        key("schema.fold", "space,left,right", "fold", "fold", "Show or hide the columns of this view", show=True),
    ],
    "file": [
        key("file.done", "enter,ctrl+s", "done", "write", "Write the file; one that is there only when asked once more",
             show=True),
        key("file.cancel", "escape", "cancel", "cancel", "Write nothing", show=True),
    ],
    "name": [
        key("name.done", "enter,ctrl+s", "done", "save", "Save under this name; a name that is used only when asked "
             "once more", show=True),
        key("name.cancel", "escape", "cancel", "cancel", "Save nothing", show=True),
    ],
    "numbers": [
        key("numbers.open", "enter", "open", "show calls", "Show the calls of the row under the cursor: in a trace its "
            "spans, in the list the traces that have such calls", show=True),
        key("numbers.next", "right,l", "by(1)", "models / tools / agents", "Put the calls together by the next of "
            "model, tool and agent", show=True),
        key("numbers.previous", "left,h", "by(-1)", "previous", "Put them together by the previous one"),
        key("numbers.sort", "s", "sort", "sort", "Sort by the next column: calls, p95, total time, errors, tokens, "
            "cost", show=True),
        key("numbers.reverse", "S", "reverse", "reverse", "Sort the other way round"),
        key("numbers.back", "escape,number_sign", "back", "back", "Stop counting; else back to where you came from",
            show=True),
    ],
}  # fmt: skip
