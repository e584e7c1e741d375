"""Dialogs: reached by keys, each of their keys works, escape leaves them, and no screen is left out of the walks."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

from textual.screen import Screen

from debugger.tui import screens
from debugger.tui.screens.base import own_bindings
from debugger.tui.screens.compare import CompareScreen
from debugger.tui.screens.editor import AskScreen, ForkScreen
from debugger.tui.screens.export import ExportScreen
from debugger.tui.screens.files import BranchNameScreen, FileScreen, NameScreen
from debugger.tui.screens.lineage import LineageScreen
from debugger.tui.screens.notebook import NotebookScreen, NoteEditor
from debugger.tui.screens.notes import HelpScreen, NotesScreen
from debugger.tui.screens.numbers import NumbersScreen
from debugger.tui.screens.question import QuestionScreen
from debugger.tui.screens.replay import ReplayScreen
from debugger.tui.screens.sql import SqlScreen
from debugger.tui.screens.thread import ThreadScreen
from debugger.tui.screens.trace import TraceScreen
from debugger.tui.screens.traces import TracesScreen
from runtime.journal import Question
from tests.tui.driver import NARROW, Desk, Typed, drive
from tests.tui.fake_session import FakeSession
from tests.tui.test_keys import PLACES, WITHIN

SCREENS = {
    "traces": TracesScreen, "trace": TraceScreen, "question": QuestionScreen, "replay": ReplayScreen,
    "compare": CompareScreen, "help": HelpScreen, "issues": NotesScreen, "lineage": LineageScreen,
    "notebook": NotebookScreen, "query": SqlScreen, "numbers": NumbersScreen, "thread": ThreadScreen,
}  # fmt: skip
"""What stands at the places of ``test_keys``."""
DIALOGS = {
    ExportScreen: ["enter", "S"],
    ForkScreen: ["enter", "down", "E"],
    NoteEditor: ["enter", "P", "B", "E"],
    NameScreen: ["Q", Typed("select 1"), "ctrl+s"],
    BranchNameScreen: ["enter", "r", "n"],
    FileScreen: ["Q", Typed("select 1 as one"), "enter", "ctrl+e"],
    AskScreen: [],
}
"""And the way to each dialog; none leads to the one that a running replay opens."""
ASKED = Question(kind="tool", name="book", call_id="root/tool:book:1", reason="not recorded", request={"id": 1})


def all_screens() -> Iterator[type[Screen]]:
    """Every class of a screen that something opens: no other is made from it, or it makes nothing abstract."""
    found = set()
    for module in pkgutil.iter_modules(screens.__path__):
        for _, kind in inspect.getmembers(
            importlib.import_module(f"{screens.__name__}.{module.name}"), inspect.isclass
        ):
            if issubclass(kind, Screen) and kind.__module__.startswith(screens.__name__):
                found.add(kind)
    yield from (kind for kind in found if kind is NotesScreen or not any(kind in each.__bases__ for each in found))


def test_no_screen_is_left_out_of_the_walks():
    assert set(SCREENS) == set(PLACES) - WITHIN
    assert set(all_screens()) == {*SCREENS.values(), *DIALOGS}


async def walk(desk: Desk, kind: type[Screen], *way: str) -> None:
    await desk.press(*way)
    if kind is AskScreen:
        desk.app.push_screen(AskScreen(ASKED))
        await desk.settle()
    assert type(desk.app.screen) is kind


def test_every_key_of_every_dialog_works_and_escape_leaves_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def scene(desk: Desk) -> None:
        for kind, way in DIALOGS.items():
            await desk.back_to_list()
            await walk(desk, kind, *way)
            below = desk.app.screen_stack[-2]
            assert desk.app.focused is desk.app.screen.area, f"nothing of {kind.__name__} has the focus"
            bindings = own_bindings(desk.app.screen)
            for binding in sorted(bindings, key=lambda each: each.key == "escape"):
                if desk.app.screen is below:
                    await walk(desk, kind, *way[-1:])
                await desk.press(binding.key.split(",")[0])
                if isinstance(desk.app.screen, HelpScreen):
                    assert all(each.tooltip in desk.app.screen.document.text for each in bindings)
                    await desk.press("escape")
            assert desk.app.screen is below, f"escape does not leave {kind.__name__}"

    drive(FakeSession(), scene, NARROW)


def test_a_screen_that_has_gone_draws_nothing():
    drawn: list[str] = []

    async def scene(desk: Desk) -> None:
        desk.app.screen.when_laid_out(lambda: drawn.append("list"))
        await desk.press("enter")
        screen = desk.app.screen
        desk.app.pop_screen()
        screen.when_laid_out(lambda: drawn.append("gone"))
        await desk.settle()

    drive(FakeSession(), scene)
    assert drawn == ["list"]
