"""Every key of every screen: one table, from which bindings, the key line and the help are made.

A binding's ``description`` is the short form for the key line, its ``tooltip`` the sentence for the help. Ids are
stable names, so that keys can be remapped. Bindings with ``show`` are offered in the key line, the first ones first.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from textual.binding import Binding, BindingType

Group: TypeAlias = Literal[
    "app",
    "screen",
    "rows",
    "traces",
    "filter",
    "trace",
    "timeline",
    "detail",
    "replay",
    "report",
    "question",
    "fork",
    "ask",
    "notes",
]
"""A part of the program with keys of its own."""

TITLES: dict[Group, str] = {
    "traces": "trace list",
    "filter": "filter line",
    "trace": "trace",
    "timeline": "timeline",
    "detail": "detail pane",
    "replay": "replay",
    "report": "report of a replay",
    "question": "before a replay",
    "fork": "change before a fork",
    "ask": "a call without a recorded answer",
    "notes": "this page",
    "rows": "moving",
    "screen": "panes",
    "app": "everywhere",
}
"""What the help calls each group, in the order in which it shows them."""

FIRST = (
    "timeline.open", "detail.unfold", "detail.right", "trace.before", "trace.after", "trace.replay", "replay.cancel",
    "report.unfold", "replay.open", "replay.save", "screen.next", "trace.next_error",
)  # fmt: skip
"""Keys that the key line offers before others, as room is short."""

_DISPLAY: dict[str, str] = {
    "up": "↑", "down": "↓", "left": "←", "right": "→", "enter": "⏎", "escape": "esc", "question_mark": "?",
    "slash": "/", "pageup": "pgup", "pagedown": "pgdn", "shift+tab": "⇧tab", "backspace": "⌫", "space": "space",
    "N": "N", "left_square_bracket": "[", "right_square_bracket": "]", "upper_n": "N",
}  # fmt: skip


def display(keys: str) -> str:
    """How the keys of a binding are written: ``down,j`` as ``↓ j``."""
    return " ".join(_DISPLAY.get(key, key.replace("ctrl+", "^")) for key in keys.split(","))


def _key(id_: str, keys: str, action: str, label: str, sentence: str, *, show: bool = False) -> Binding:
    return Binding(keys, action, label, show=show, tooltip=sentence, id=id_)


_KEYS: dict[Group, list[Binding]] = {
    "app": [
        _key("app.help", "question_mark", "help", "keys", "Show the keys of this screen and what they do"),
        _key("app.theme", "t", "toggle_dark", "light/dark", "Switch between the dark and the light theme"),
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
        _key("traces.open", "enter", "open", "open", "Open the trace under the cursor", show=True),
        _key("traces.filter", "slash", "filter", "filter", "Show only traces whose name, service, id or file "
             "contains what is typed", show=True),
        _key("traces.sort", "s", "sort", "sort", "Sort by the next column: start, time taken, tokens, cost, errors",
             show=True),
        _key("traces.issues", "i", "issues", "input notes", "List what was odd in the input", show=True),
        _key("traces.remove", "d", "remove", "remove", "Remove the trace under the cursor from the library; asks "
             "first. Loading its file again brings it back", show=True),
        _key("traces.receive", "l", "receive", "receive", "Receive traces from running programs into the library, over "
             "OTLP on this machine's usual ports, or stop doing so; it ends when Retrospan is left", show=True),
        _key("traces.cancel", "escape", "cancel", "clear filter", "Stop loading and keep what is there; "
             "otherwise clear the filter"),
    ],
    "filter": [
        _key("filter.keep", "enter,down", "keep", "keep", "Keep the filter and go to the list", show=True),
        _key("filter.clear", "escape", "clear", "clear", "Clear the filter and go to the list", show=True),
        _key("filter.rub", "backspace", "rub", "delete", "Delete the last character"),
        _key("filter.word", "ctrl+w", "rub_word", "delete word", "Delete the last word"),
        _key("filter.empty", "ctrl+u", "rub_all", "delete all", "Delete everything typed"),
    ],
    "trace": [
        _key("trace.before", "b", "restore('before')", "before", "Rebuild the agent's state just before this "
             "span, as if it had never happened, and show it", show=True),
        _key("trace.after", "a", "restore('after')", "after", "Rebuild the agent's state just after this span "
             "and show it", show=True),
        _key("trace.replay", "r", "replay", "replay", "Run the agent again with recorded answers, from the state "
             "while its tab is on the screen, else the whole trace; asks first", show=True),
        _key("trace.fork", "f", "fork", "fork", "Change a message, the system text, the model, a tool or its result at "
             "this span, and run on from there; asks first", show=True),
        _key("trace.next_error", "n", "error(1)", "next error", "Go to the next span in error", show=True),
        _key("trace.previous_error", "N", "error(-1)", "previous error", "Go to the previous span in error"),
        _key("trace.branch", "v", "branch", "next branch", "Go to the next branch of this trace: "
             "the recording and its replays in turn"),
        _key("trace.save", "s", "save", "save replay", "Keep this replay: write its trace to a file beside the "
             "recording; replays that are not saved are gone when Retrospan is left"),
        _key("trace.tab1", "1", "tab('conversation')", "conversation", "Show what the model saw and said"),
        _key("trace.tab2", "2", "tab('attributes')", "attributes", "Show the span as it was recorded"),
        _key("trace.tab3", "3", "tab('snapshot')", "snapshot", "Show the rebuilt state"),
        _key("trace.issues", "i", "issues", "input notes", "List what was odd in the input"),
        _key("trace.back", "escape", "back", "back", "Back to the timeline, then to the list of traces"),
    ],
    "timeline": [
        _key("timeline.open", "enter", "open", "details", "Go to the detail pane of this span", show=True),
        _key("timeline.collapse", "left,h", "collapse", "collapse", "Hide what is below this span; "
             "again: go to its parent"),
        _key("timeline.expand", "right,l", "expand", "expand", "Show what is below this span; again: go to it"),
        _key("timeline.toggle", "space", "toggle_fold", "fold", "Hide or show what is below this span"),
        _key("timeline.all", "e", "toggle_all", "expand all", "Collapse everything, or expand everything", show=True),
        _key("timeline.parent", "p", "parent", "parent", "Go to the parent span"),
    ],
    "report": [
        _key("report.unfold", "enter,space", "toggle_fold", "unfold / open replay", "Show all of the long text under "
             "the cursor, or fold it again; enter elsewhere opens the replay's own trace", show=True),
        _key("report.unfold_all", "e", "toggle_all_folds", "unfold all", "Unfold all long texts, or fold them again"),
    ],
    "detail": [
        _key("detail.unfold", "enter,space", "toggle_fold", "unfold", "Show all of the long text under the cursor, "
             "or fold it again", show=True),
        _key("detail.unfold_all", "e", "toggle_all_folds", "unfold all", "Unfold all long texts, or fold them again",
             show=True),
        _key("detail.left", "left,h,left_square_bracket", "tab(-1)", "previous tab", "Show the previous tab"),
        _key("detail.right", "right,l,right_square_bracket", "tab(1)", "tabs", "Show the next tab", show=True),
    ],
    "replay": [
        _key("replay.cancel", "escape,c", "leave", "cancel / back", "Cancel a replay that runs; go back from one "
             "that has ended", show=True),
        _key("replay.open", "enter", "open", "open replay", "Open the replay's own trace, once it has ended",
             show=True),
        _key("replay.save", "s", "save", "save", "Keep the replay: write its trace to a file beside the recording; "
             "replays that are not saved are gone when Retrospan is left", show=True),
    ],
    "question": [
        _key("question.start", "enter", "start", "start", "Start the replay", show=True),
        _key("question.cancel", "escape", "cancel", "cancel", "Do nothing", show=True),
        _key("question.model", "m", "choose('mode')", "models", "What happens when a model call is not in the "
             "recording: stop, or really ask"),
        _key("question.tools", "o", "choose('tools')", "tools", "What happens when a tool call is not in the "
             "recording: stop, or really run it"),
        _key("question.whole", "w", "whole", "from", "Switch between a replay from the cut that is shown and one of "
             "the whole trace"),
        _key("question.rest", "x", "rest", "past the cut", "Whether the recording answers on past the cut"),
        _key("question.help", "question_mark", "app.help", "keys", "Show the keys of this dialog and what they do",
             show=True),
        _key("question.quit", "q,ctrl+q", "app.quit", "quit", "Leave Retrospan"),
    ],
    "fork": [
        _key("fork.done", "ctrl+s", "done", "go on", "Go on to the question before the replay, with this change",
             show=True),
        _key("fork.next", "tab", "app.focus_next", "paths / text", "Between the paths and the text", show=True),
        _key("fork.cancel", "escape", "cancel", "cancel", "Change nothing", show=True),
    ],
    "ask": [
        _key("ask.give", "ctrl+s", "give", "go on with this", "Go on with the text as the result", show=True),
        _key("ask.fail", "ctrl+f", "fail", "let it fail", "Let the call fail with the text as its message", show=True),
        _key("ask.live", "ctrl+r", "live", "do it for real", "Ask the real model, or run the tool", show=True),
        _key("ask.stop", "escape", "stop", "stop here", "End the replay here, as a divergence", show=True),
    ],
    "notes": [
        _key("notes.back", "escape", "back", "back", "Close this page", show=True),
    ],
}  # fmt: skip


def bindings(*groups: Group) -> list[BindingType]:
    """The bindings of some groups, in order."""
    return [binding for group in groups for binding in _KEYS[group]]


def group_of(binding: Binding) -> Group | None:
    """The group that a binding comes from, by its id."""
    name = (binding.id or "").partition(".")[0]
    return next((group for group in _KEYS if group == name), None)
