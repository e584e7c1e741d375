"""Every key of every screen: one table, from which bindings, the key line and the help are made.

A binding's ``description`` is the short form for the key line, its ``tooltip`` the sentence for the help. Ids are
stable names, so that keys can be remapped. Bindings with ``show`` are offered in the key line, the first ones first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from textual.binding import Binding, BindingType

from ..analysis.text import visible
from .keymap_sql import SQL_KEYS, SqlGroup
from .keymap_sql import key as _key

Group: TypeAlias = Literal[
    "app", "screen", "rows", "traces", "filter", "trace", "timeline", "detail", "text", "thread", "replay", "report",
    "compare", "question", "fork", "ask", "notes", "lineage", "notebook", "note", "export", "editor", SqlGroup
]  # fmt: skip
"""A part of the program with keys of its own."""

TITLES: dict[Group, str] = {
    "traces": "trace list",
    "filter": "filter line",
    "trace": "trace",
    "timeline": "timeline",
    "detail": "detail pane",
    "text": "texts",
    "thread": "conversation of the trace",
    "replay": "replay",
    "report": "report of a replay",
    "compare": "two traces compared",
    "question": "before a replay",
    "fork": "change before a fork",
    "ask": "a call without a recorded answer",
    "notes": "this page",
    "lineage": "where a phrase came from",
    "notebook": "notebook",
    "note": "a note",
    "export": "export",
    "editor": "dialogs",
    "query": "query",
    "result": "rows of a result",
    "queries": "queries to choose from",
    "schema": "views and columns",
    "sql": "SQL",
    "file": "a file for rows",
    "name": "a name for a query",
    "numbers": "numbers",
    "rows": "moving",
    "screen": "panes",
    "app": "everywhere",
}
"""What the help calls each group, in the order in which it shows them."""

FIRST = (
    "timeline.open", "lineage.open", "lineage.next", "notebook.open", "notebook.add",
    "text.unfold", "detail.right", "trace.before", "trace.after", "trace.replay", "replay.cancel",
    "report.unfold", "replay.open", "replay.save", "trace.search", "screen.next", "trace.next_match", "trace.only",
)  # fmt: skip
"""Keys that the key line offers before others, as room is short."""

_DISPLAY: dict[str, str] = {
    "up": "↑", "down": "↓", "left": "←", "right": "→", "enter": "⏎", "escape": "esc", "question_mark": "?",
    "slash": "/", "pageup": "pgup", "pagedown": "pgdn", "shift+tab": "⇧tab", "backspace": "⌫", "space": "space",
    "left_square_bracket": "[", "right_square_bracket": "]",
    "left_curly_bracket": "{", "right_curly_bracket": "}", "colon": ":",
    "plus": "+", "number_sign": "#", "equals_sign": "=", "minus": "-", "full_stop": ".", "less_than_sign": "<",
    "greater_than_sign": ">", "delete": "del", "alt+left": "alt+←", "alt+right": "alt+→",
}  # fmt: skip


_MODIFIERS: dict[str, str] = {"ctrl": "^", "shift": "⇧"}


def display(keys: str) -> str:
    """How the keys of a binding are written: ``down,j`` as ``↓ j``; whatever a key is, it can be shown."""
    return " ".join(visible(_written(key)) for key in keys.split(","))


def _written(key: str) -> str:
    if key in _DISPLAY:
        return _DISPLAY[key]
    modifiers, _, last = key.rpartition("+")
    before = "".join(_MODIFIERS.get(each, f"{each}+") for each in modifiers.split("+") if each)
    return before + _DISPLAY.get(last, last)


_OWN_KEYS: dict[Group, list[Binding]] = {
    "app": [
        _key("app.help", "question_mark,f1", "help", "keys", "Show the keys of this screen and what they do"),
        _key("app.palette", "colon,ctrl+p", "command_palette", "commands", "Search all commands of this screen "
             "by name"),
        _key("app.notebook", "B", "notebook", "notebook", "Open the notebook: what was pinned, and notes of your own"),
        _key("app.sql", "Q", "sql", "SQL", "Ask all traces that are shown in SQL: read-only, with completion, saved "
             "queries and results that lead to their spans"),
        _key("app.theme", "T", "toggle_dark", "light/dark", "Switch between the dark and the light theme"),
        _key("app.quit", "q,ctrl+q", "quit", "quit", "Leave Retrospan"),
        _key("app.interrupt", "ctrl+c", "interrupt", "how to leave", "Say how to leave"),
    ],
    "screen": [
        _key("screen.next", "tab", "next_pane", "pane", "Go to the next pane", show=True),
        _key("screen.previous", "shift+tab", "previous_pane", "previous pane", "Go to the previous pane"),
    ],
    "rows": [
        _key("rows.up", "up,k", "cursor_up", "up", "One row up"),
        _key("rows.down", "down,j", "cursor_down", "down", "One row down"),
        _key("rows.page_up", "pageup", "page_up", "page up", "One page up"),
        _key("rows.page_down", "pagedown", "page_down", "page down", "One page down"),
        _key("rows.home", "home,g", "first", "first", "To the first row"),
        _key("rows.end", "end,G", "last", "last", "To the last row"),
    ],
    "traces": [
        _key("traces.open", "enter", "open", "open", "Open the trace under the cursor; fold or unfold a "
             "group", show=True),
        _key("traces.filter", "slash", "filter", "filter", "Show only some traces: by words in name, service, id "
             "or file, and by keys such as tokens>5k errors>0 duration>2s service:… text:…; tab completes, and a "
             "mistake is marked", show=True),
        _key("traces.sort", "s", "sort", "sort", "Sort by the next column: start, time taken, tokens, cost, "
             "errors, name", show=True),
        _key("traces.reverse", "S", "reverse", "reverse", "Sort the other way round"),
        _key("traces.group", "u", "group", "group", "Put the traces into groups: by service, by conversation, "
             "by file, or none"),
        _key("traces.fold", "left", "fold(True)", "fold group", "Show only the heading of the group under the cursor"),
        _key("traces.unfold", "right", "fold(False)", "unfold group", "Show the traces of the group under the cursor"),
        _key("traces.fold_all", "e", "fold_all", "fold all", "Fold all groups, or show the traces of all"),
        _key("traces.mark", "space", "mark", "mark", "Mark the trace under the cursor for a comparison, or take its "
             "mark away"),
        _key("traces.compare", "c", "compare", "compare", "Compare the two marked traces; or the marked one, or for a "
             "replay its recording, with the one under the cursor", show=True),
        _key("traces.issues", "i", "issues", "input notes", "List what was odd in the input", show=True),
        _key("traces.numbers", "number_sign", "numbers", "numbers", "Count time, tokens, cost and errors by model, "
             "tool and agent: over the marked traces, else those that the filter leaves, else all", show=True),
        _key("traces.remove", "d", "remove", "remove", "Remove the trace under the cursor from the library, or "
             "delete a replay that is not saved; asks first. Loading a file again brings it back", show=True),
        _key("traces.receive", "l", "receive", "receive", "Receive traces from running programs into the library, over "
             "OTLP on this machine's usual ports, or stop doing so; it ends when Retrospan is left", show=True),
        _key("traces.follow", "F", "follow", "follow files", "Go on reading files that still grow, or stop doing so; "
             "what is added shows up by itself"),
        _key("traces.cancel", "escape", "cancel", "clear filter", "Stop loading and keep what is there; "
             "otherwise clear the filter"),
    ],
    "filter": [
        _key("filter.keep", "enter,down", "keep", "keep", "Keep what is typed and go on", show=True),
        _key("filter.clear", "escape", "clear", "clear", "Clear what is typed and go back", show=True),
        _key("filter.complete", "tab", "complete", "complete", "Complete the word with a key or value; again: with the "
             "next one that fits", show=True),
        _key("filter.left", "left", "cursor_left", "left", "One character to the left"),
        _key("filter.right", "right", "cursor_right", "right", "One character to the right"),
        _key("filter.word_left", "ctrl+left,alt+b", "cursor_left_word", "word left", "One word to the left"),
        _key("filter.word_right", "ctrl+right,alt+f", "cursor_right_word", "word right", "One word to the right"),
        _key("filter.home", "home,ctrl+a", "home", "start", "To the beginning of the text"),
        _key("filter.end", "end,ctrl+e", "end", "end", "To the end of the text"),
        _key("filter.rub", "backspace", "delete_left", "delete", "Delete the character before the caret"),
        _key("filter.delete", "delete,ctrl+d", "delete_right", "delete on", "Delete the character at the caret"),
        _key("filter.word", "ctrl+w,alt+backspace", "delete_left_word", "delete word", "Delete the word before the "
             "caret"),
        _key("filter.empty", "ctrl+u", "delete_left_all", "delete before", "Delete everything before the caret"),
        _key("filter.rest", "ctrl+k", "delete_right_all", "delete after", "Delete everything from the caret on"),
    ],
    "trace": [
        _key("trace.before", "b", "restore('before')", "before", "Rebuild the agent's state just before this "
             "span, as if it had never happened, and show it", show=True),
        _key("trace.after", "a", "restore('after')", "after", "Rebuild the agent's state just after this span "
             "and show it", show=True),
        _key("trace.step_back", "left_square_bracket", "step(-1)", "event back", "Move the playhead one event back and "
             "show the state there, with what changed"),
        _key("trace.step", "right_square_bracket", "step(1)", "next event", "Move the playhead one event on and show "
             "the state there, with what changed; at first: to the start of this span", show=True),
        _key("trace.leap_back", "left_curly_bracket", "step(-10)", "10 back", "Move the playhead ten events back"),
        _key("trace.leap", "right_curly_bracket", "step(10)", "10 on", "Move the playhead ten events on"),
        _key("trace.mark", "d", "mark", "mark / diff", "Mark the state that is shown; at another one, show what "
             "differs from the marked one"),
        _key("trace.unmark", "D", "unmark", "forget mark", "Forget the marked state"),
        _key("trace.replay", "r", "replay", "replay", "Run the agent again with recorded answers, from the state "
             "while its tab is on the screen, else the whole trace; asks first", show=True),
        _key("trace.fork", "E", "fork", "edit and fork", "Change a message, the system text, the model, a tool or its "
             "result at this span, and run on from there; asks first", show=True),
        _key("trace.search", "slash", "search", "search", "Search this trace: words in names, messages, arguments, "
             "results and attributes, and keys such as kind:llm tokens>5k error:true model:gpt* duration>2s; "
             "tab completes", show=True),
        _key("trace.next_match", "n", "match(1)", "next match", "Go to the next match; while nothing is searched, to "
             "the next span in error", show=True),
        _key("trace.previous_match", "N", "match(-1)", "previous match", "Go to the previous match; while nothing is "
             "searched, to the previous span in error"),
        _key("trace.only", "f", "only", "only matches", "Show only the matches and the spans above them, or everything "
             "again", show=True),
        _key("trace.critical", "C", "critical", "critical path", "Show what decided how long the trace took: the "
             "stretches that were waited for are solid"),
        _key("trace.branch", "v", "branch", "next branch", "Go to the next branch of this trace: "
             "the recording and its replays in turn"),
        _key("trace.compare", "c", "compare", "compare", "Compare this replay with its recording, or a recording with "
             "its newest replay"),
        _key("trace.save", "s", "save", "save replay", "Keep this replay: in the library, or in a file beside the "
             "recording (one of a bundled sample in the library where there is one, else in the present folder); "
             "replays that are not saved are gone when Retrospan is left"),
        _key("trace.tab1", "1", "tab('conversation')", "conversation", "Show what the model saw and said"),
        _key("trace.tab2", "2", "tab('attributes')", "attributes", "Show the span as it was recorded"),
        _key("trace.tab3", "3", "tab('snapshot')", "snapshot", "Show the rebuilt state"),
        _key("trace.tab4", "4", "tab('request')", "request", "Show the request and the answer of a model call as JSON"),
        _key("trace.tab5", "5", "tab('events')", "events", "Show events and log records of the span in their order"),
        _key("trace.thread", "t", "thread", "thread", "Show the conversation of the whole trace as one thread, and "
             "back", show=True),
        _key("trace.where", "H", "where", "where from", "Show where a phrase came from: what is found in a "
             "text, else the line under the cursor; on the timeline a phrase can be typed"),
        _key("trace.pin", "P", "pin", "pin", "Pin to the notebook what is under the cursor: the span on the "
             "timeline, a text in the detail pane"),
        _key("trace.export", "S", "export", "export", "Write this trace as OTLP JSON, its conversation as Markdown or "
             "the state at the playhead as JSON to a file; asks what, where to and what is taken out"),
        _key("trace.follow", "F", "follow", "follow", "Follow a trace that is still running: the cursor goes to each "
             "new span, or stays again"),
        _key("trace.numbers", "number_sign", "numbers", "numbers", "Count time, tokens, cost and errors of this trace "
             "by model, tool and agent"),
        _key("trace.issues", "i", "issues", "input notes", "List what was odd in the input"),
        _key("trace.back", "escape", "back", "back", "Back to the timeline, to the steps of "
             "a phrase that led here, then to the list of traces"),
    ],
    "timeline": [
        _key("timeline.open", "enter", "open", "details", "Go to the detail pane of this span", show=True),
        _key("timeline.collapse", "left,h", "collapse", "collapse", "Hide what is below this span; "
             "again: go to its parent"),
        _key("timeline.expand", "right,l", "expand", "expand", "Show what is below this span; again: go to it"),
        _key("timeline.toggle", "space", "toggle_fold", "fold", "Hide or show what is below this span"),
        _key("timeline.all", "e", "toggle_all", "expand all", "Collapse everything, or expand everything", show=True),
        _key("timeline.parent", "p", "parent", "parent", "Go to the parent span"),
        _key("timeline.next_sibling", "J", "sibling(1)", "next sibling", "Go to the next span under the same parent"),
        _key("timeline.previous_sibling", "K", "sibling(-1)", "previous sibling", "Go to the previous span under the "
             "same parent"),
        _key("timeline.next_error", "x", "jump_kind('error', 1)", "next error", "Go to the next span in error",
             show=True),
        _key("timeline.previous_error", "X", "jump_kind('error', -1)", "previous error", "Go to the previous span in "
             "error"),
        _key("timeline.next_llm", "m", "jump_kind('llm', 1)", "next model call", "Go to the next model call"),
        _key("timeline.previous_llm", "M", "jump_kind('llm', -1)", "previous model call", "Go to the previous model "
             "call"),
        _key("timeline.next_tool", "o", "jump_kind('tool', 1)", "next tool call", "Go to the next tool call"),
        _key("timeline.previous_tool", "O", "jump_kind('tool', -1)", "previous tool call", "Go to the previous tool "
             "call"),
        _key("timeline.next_agent", "w", "jump_kind('agent', 1)", "next agent", "Go to the next agent"),
        _key("timeline.previous_agent", "W", "jump_kind('agent', -1)", "previous agent", "Go to the previous agent"),
        _key("timeline.next_same", "y", "same(1)", "next of this name", "Go to the next span of the same name"),
        _key("timeline.previous_same", "Y", "same(-1)", "previous of this name", "Go to the previous span of the same "
             "name"),
        _key("timeline.slowest", "z", "slowest", "slowest", "Go to the slowest model call; from there to the next "
             "slowest"),
        _key("timeline.undo", "u,alt+left", "history(-1)", "back", "Back to where the cursor jumped from"),
        _key("timeline.redo", "U,alt+right", "history(1)", "forth", "Forth again to where it was before that"),
        _key("timeline.zoom_in", "plus,equals_sign", "zoom(0.5)", "zoom in", "Show less time, around this span"),
        _key("timeline.zoom_out", "minus", "zoom(2)", "zoom out", "Show more time"),
        _key("timeline.zoom_span", "full_stop", "zoom_to_span", "zoom to span", "Show just the time of this span"),
        _key("timeline.zoom_all", "0", "zoom(0)", "all time", "Show the time of the whole trace"),
        _key("timeline.earlier", "less_than_sign", "pan(-0.5)", "earlier", "Show earlier time"),
        _key("timeline.later", "greater_than_sign", "pan(0.5)", "later", "Show later time"),
    ],
    "report": [
        _key("report.unfold", "enter,space", "toggle_fold", "unfold / open replay", "Show all of the long text under "
             "the cursor, or fold it again; elsewhere open the replay's own trace", show=True),
        _key("report.unfold_all", "e", "toggle_all_folds", "unfold all", "Unfold all long texts, or fold them again"),
    ],
    "detail": [
        _key("detail.left", "left,h", "tab(-1)", "previous tab", "Show the previous tab"),
        _key("detail.right", "right,l", "tab(1)", "tabs", "Show the next tab", show=True),
    ],
    "text": [
        _key("text.unfold", "enter,space", "toggle_fold", "unfold", "Show all of the long text under the cursor, or "
             "fold it again; on a line that ends in { or [ fold what is inside", show=True),
        _key("text.unfold_all", "e", "toggle_all_folds", "unfold all", "Unfold everything, or fold long texts again",
             show=True),
        _key("text.find", "slash", "find", "find", "Find a text on this page", show=True),
        _key("text.next", "n", "match(1)", "next match", "Go to the next place where it is found"),
        _key("text.previous", "N", "match(-1)", "previous match", "Go to the previous place where it is found"),
        _key("text.end", "escape", "end_find", "end finding", "Find nothing any more"),
        _key("text.copy", "y", "copy", "copy", "Copy the text under the cursor, also what is folded away; works over "
             "SSH where the terminal allows it", show=True),
        _key("text.copy_all", "Y", "copy_all", "copy all", "Copy everything on this page"),
        _key("text.write", "ctrl+s", "write", "to file", "Write everything on this page to a file in the present "
             "folder"),
    ],
    "thread": [
        _key("thread.open", "o", "open_call", "go to call", "Back to the timeline, at the call that this is from",
             show=True),
        _key("thread.where", "H", "where", "where from", "Show where what is found in the text, else the line under "
             "the cursor, came from", show=True),
        _key("thread.back", "t,escape", "back", "spans", "Back to the timeline", show=True),
        _key("thread.next", "J", "turn(1)", "next call", "Go to the next call"),
        _key("thread.previous", "K", "turn(-1)", "previous call", "Go to the previous call"),
        _key("thread.export", "S", "export", "export", "Write the conversation as Markdown to a file, or the trace"),
    ],
    "lineage": [
        _key("lineage.open", "enter", "open_span", "go to span", "Go to the span of this step", show=True),
        _key("lineage.next", "J", "step(1)", "next step", "Go to the next step, towards where it first appeared",
             show=True),
        _key("lineage.previous", "K", "step(-1)", "previous step", "Go to the previous step", show=True),
        _key("lineage.phrase", "p", "phrase", "other phrase", "Type another phrase to follow", show=True),
        _key("lineage.pin", "P", "pin", "pin", "Pin the trail to the notebook", show=True),
        _key("lineage.back", "escape,H", "back", "back", "Back to where the question was asked", show=True),
    ],
    "notebook": [
        _key("notebook.open", "enter", "open_span", "go to span", "Go to the span that the note is about", show=True),
        _key("notebook.add", "a", "add", "write", "Write a note of your own", show=True),
        _key("notebook.edit", "E", "edit", "edit", "Edit the text of the note under the cursor", show=True),
        _key("notebook.delete", "d", "delete", "delete", "Delete the note under the cursor; asks first", show=True),
        _key("notebook.down", "J", "move(1)", "move down", "Move the note down"),
        _key("notebook.up", "K", "move(-1)", "move up", "Move the note up"),
        _key("notebook.export", "x", "export", "to Markdown", "Write all notes to a Markdown file in the present "
             "folder, with the commands that open their spans", show=True),
        _key("notebook.back", "escape,B", "back", "back", "Close the notebook", show=True),
    ],
    "note": [
        _key("note.done", "ctrl+s", "done", "keep", "Keep the text", show=True),
        _key("note.cancel", "escape", "cancel", "cancel", "Change nothing", show=True),
    ],
    "export": [
        _key("export.done", "enter,ctrl+s", "done", "write", "Write the file; one that is there only when "
             "asked once more", show=True),
        _key("export.what", "ctrl+t", "what", "what", "Write the trace, its conversation or a snapshot", show=True),
        _key("export.redaction", "ctrl+r", "redaction", "redaction", "Take nothing out, or secrets, or personal data "
             "as well", show=True),
        _key("export.cancel", "escape", "cancel", "cancel", "Write nothing", show=True),
    ],
    "replay": [
        _key("replay.cancel", "escape,c", "leave", "cancel / back", "Cancel a replay that runs; go back from one "
             "that has ended", show=True),
        _key("replay.open", "enter", "open", "open replay", "Open the replay's own trace, once it has ended",
             show=True),
        _key("replay.save", "s", "save", "save", "Keep the replay: in the library, or in a file beside the recording "
             "(one of a bundled sample in the library where there is one, else in the present folder); replays that "
             "are not saved are gone when Retrospan is left", show=True),
    ],
    "compare": [
        _key("compare.next", "n,x", "difference(1)", "next difference", "Go to the next call that differs", show=True),
        _key("compare.previous", "N,X", "difference(-1)", "previous difference", "Go to the previous call that "
             "differs"),
        _key("compare.open", "enter", "open", "details", "Go to what differs in this call", show=True),
        _key("compare.only", "f", "only", "only differences", "Show only the calls that differ, or all again",
             show=True),
        _key("compare.pin", "P", "pin", "pin", "Pin to the notebook what differs in the call under the cursor"),
        _key("compare.swap", "s", "swap", "swap", "Exchange left and right"),
        _key("compare.back", "escape", "back", "back", "Back to the calls, then to where you came from", show=True),
    ],
    "question": [
        _key("question.start", "enter", "start", "start", "Start the replay", show=True),
        _key("question.cancel", "escape", "cancel", "cancel", "Do nothing", show=True),
        _key("question.model", "m", "choose('mode')", "models", "What happens when a model call is not in the "
             "recording: stop, or really ask"),
        _key("question.tools", "o", "choose('tools')", "tools", "What happens when a tool call is not in the "
             "recording: stop, or really run it"),
        _key("question.whole", "w", "whole", "from", "Where the replay starts: the whole trace, the state that is "
             "shown, or the span under the cursor"),
        _key("question.rest", "x", "rest", "past the cut", "Whether the recording answers on past the cut"),
        _key("question.name", "n", "name", "name", "Give the branch that comes of it a name of its own"),
        _key("question.help", "question_mark,f1", "app.help", "keys", "Show the keys of this dialog and what they do",
             show=True),
        _key("question.quit", "q,ctrl+q", "app.quit", "quit", "Leave Retrospan"),
    ],
    "fork": [
        _key("fork.done", "ctrl+s", "done", "go on", "Go on to the question before the replay, with all changes",
             show=True),
        _key("fork.next", "tab", "app.focus_next", "paths / text", "Between the paths and the text", show=True),
        _key("fork.cancel", "escape", "cancel", "cancel", "Change nothing; asked once more where something was typed",
             show=True),
    ],
    "ask": [
        _key("ask.give", "ctrl+s", "give", "go on with this", "Go on with the text as the result", show=True),
        _key("ask.fail", "ctrl+f", "fail", "let it fail", "Let the call fail with the text as its message", show=True),
        _key("ask.live", "ctrl+r", "live", "do it for real", "Ask the real model, or run the tool", show=True),
        _key("ask.stop", "escape", "stop", "stop here", "End the replay here, as a divergence", show=True),
    ],
    "editor": [
        _key("editor.help", "f1", "app.help", "keys", "Show the keys of this dialog and what they do", show=True),
    ],
    "notes": [
        _key("notes.back", "escape", "back", "back", "Close this page", show=True),
    ],
}  # fmt: skip

_KEYS: dict[Group, list[Binding]] = {**_OWN_KEYS, **{group: keys for group, keys in SQL_KEYS.items()}}


_BY_ID: dict[str, Binding] = {binding.id or "": binding for group in _KEYS.values() for binding in group}


def bindings(*groups: Group) -> list[BindingType]:
    """The bindings of some groups, in order."""
    return [binding for group in groups for binding in _KEYS[group]]


_JUMPS: Final = (
    "next_error", "previous_error", "next_llm", "previous_llm", "next_tool", "previous_tool", "next_agent",
    "previous_agent", "next_sibling", "previous_sibling", "slowest", "parent", "undo", "redo",
)  # fmt: skip


def jumps() -> list[BindingType]:
    """The timeline's jumps for the pane beside it, whose screen passes them on."""
    found = [_BY_ID[f"timeline.{name}"] for name in _JUMPS]
    return [replace(each, action=f"screen.on_timeline({each.action!r})", show=False) for each in found]


def all_bindings() -> list[Binding]:
    """Every binding there is."""
    return [binding for group in _KEYS.values() for binding in group]


def key_of(id_: str, keys: Mapping[str, str]) -> str:
    """How the first key of a binding is written, for sentences that name it.

    Args:
        id_: id of a binding.
        keys: what the settings give, by id.
    """
    binding = _BY_ID[id_]
    return display(keys.get(id_, binding.key).partition(",")[0])


def remapped(binding: Binding, keys: Mapping[str, str]) -> Binding:
    """The binding with the keys that the settings give it."""
    wanted = keys.get(binding.id or "")
    return binding if wanted is None else replace(binding, key=wanted)


def group_of(binding: Binding) -> Group | None:
    """The group that a binding comes from, by its id."""
    name = (binding.id or "").partition(".")[0]
    return next((group for group in _KEYS if group == name), None)
