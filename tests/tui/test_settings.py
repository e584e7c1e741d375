"""The settings file: theme, keys, and files that cannot be used."""

from __future__ import annotations

import ast
import asyncio
import re
from pathlib import Path

import pytest

from debugger.errors import UnwritableError
from debugger.tui.app import RetrospanApp
from debugger.tui.keymap import TITLES, all_bindings, display
from debugger.tui.screens.base import own_bindings
from debugger.tui.screens.notes import HelpScreen
from debugger.tui.settings import Settings, read_settings
from debugger.tui.usable_keys import places, usable_keys
from tests.tui.driver import NARROW, Desk
from tests.tui.fake_session import FakeSession


def assert_is_a_place(app: RetrospanApp) -> None:
    """What the keys do where the focus is, all of it is looked at when a key is given away."""
    assert app.focused is not None
    nodes = [*app.focused.ancestors_with_self, app]
    names = {binding.id for node in nodes for binding in own_bindings(node)}
    assert any(names <= place for place in places()), sorted(names)


def test_keys_of_the_settings_work_and_are_shown_wherever_keys_are(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text(
        'theme = "light"\n\n[keys]\n"traces.open" = "f5"\n"app.help" = "f1"\n"trace.branch" = "f7"\n'
        '"question.model" = "f8"\n"trace.mark" = "f9"\n',
        encoding="utf-8",
    )

    async def play() -> None:
        app = RetrospanApp(FakeSession(), clock=lambda: 0.0, settings=read_settings(path))
        async with app.run_test(size=NARROW, notifications=True) as pilot:
            desk = Desk(app, pilot)
            await desk.settle()
            assert not app.current_theme.dark
            assert "f5 open" in desk.screen.splitlines()[-1]
            assert "f1 keys" in desk.screen.splitlines()[-1]
            assert_is_a_place(app)
            await desk.press("enter", "question_mark")
            assert not isinstance(app.screen, HelpScreen)
            await desk.press("f1")
            assert isinstance(app.screen, HelpScreen)
            assert "f5" in app.screen.document.text
            await desk.press("escape", "T", "f5")
            assert app.current_theme.dark
            assert "get_weather" in desk.screen
            assert_is_a_place(app)
            # Sentences that name a key name the one that it has now.
            assert "(f7)" in desk.screen.splitlines()[0]
            await desk.press("f9")
            assert "f9 then marks it" in desk.screen
            await desk.press("3")
            assert "f9  marks a state" in desk.screen
            await desk.press("r")
            assert "f8 models" in desk.screen
            await desk.press("escape", "enter")
            assert_is_a_place(app)

    asyncio.run(play())
    again = read_settings(path)
    assert (again.theme, again.keys["traces.open"]) == ("dark", "f5")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("theme = ", "cannot be read"),
        ("theme = 'dark'\ntheme = 'dark'", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_clear_line_and_the_defaults(tmp_path, text, said):
    path = tmp_path / "settings.toml"
    path.write_text(text, encoding="utf-8")
    found = read_settings(path)
    assert (found.theme, found.keys) == ("dark", {})
    (problem,) = found.problems
    assert said in problem
    assert "\n" not in problem
    with pytest.raises(UnwritableError, match="it is no valid TOML"):
        found.remember_theme("light")
    assert path.read_text(encoding="utf-8") == text, "a file with a mistake is left to the user"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("colour = 1", "colour: is no setting; it is left out"),
        ('theme = "pink"', "theme: input should be 'dark' or 'light'; it is left out"),
        ('[keys]\n"trace.where" = 3', "keys.trace.where: input should be a valid string; it is left out"),
        ("keys = 3", "keys: input should be a valid dictionary; it is left out"),
    ],
)
def test_one_line_that_is_wrong_takes_nothing_else_with_it(tmp_path, line, said):
    path = tmp_path / "settings.toml"
    rest = '"app.help" = "f1"\n'
    text = f"{line}\n{rest}" if "[keys]" in line else line if "keys" in line else f"{line}\n[keys]\n{rest}"
    path.write_text(text if "theme" in line else f'theme = "light"\n{text}', encoding="utf-8")
    found = read_settings(path)
    assert found.theme == ("dark" if "theme" in line else "light")
    assert found.keys == ({} if line.startswith("keys") else {"app.help": "f1"})
    assert found.problems == (f"{path}: {said}",)
    found.remember_theme("light")
    assert read_settings(path).theme == "light"


def test_a_theme_that_cannot_be_kept_is_said(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text("theme = ", encoding="utf-8")

    async def play() -> None:
        app = RetrospanApp(FakeSession(), clock=lambda: 0.0, settings=read_settings(path))
        async with app.run_test(size=NARROW, notifications=True) as pilot:
            desk = Desk(app, pilot)
            await desk.settle()
            await desk.press("T")
            assert any("The theme is not kept" in notice.message for notice in app._notifications)

    asyncio.run(play())


def test_conflicts_and_unknown_names_are_said_and_left_out():
    keys, problems = usable_keys({"trace.where": "P", "trace.nothing": "z", "trace.pin": "ctrl+p", "traces.sort": "o"})
    assert keys == {"traces.sort": "o"}
    assert len(problems) == 3
    assert "'trace.pin'" in problems[1]
    swapped = {"trace.before": "a", "trace.after": "b"}
    assert usable_keys(swapped) == (swapped, [])


@pytest.mark.parametrize(
    "key", ["\x1b[31mX\x07", "ctrl+banana", "[red]", "ctrl+ctrl+x", "ctrl++", "s,\u202e", "Ctrl+x", "x" * 5000]
)
def test_what_is_no_key_is_said_in_one_line_that_can_be_shown(key):
    keys, (problem,) = usable_keys({"traces.sort": key, "traces.mark": "f9"})
    assert keys == {"traces.mark": "f9"}
    assert problem.isprintable()
    assert len(problem) < 160
    assert problem.startswith("keys: ")
    assert "for 'traces.sort' is no key" in problem
    assert all(display(word).isprintable() for word in key.split(","))


def test_keys_that_a_terminal_sends_are_taken():
    every = {binding.id: binding.key for binding in all_bindings() if binding.id}
    assert usable_keys(every) == (every, [])
    signs = {"traces.sort": "é,€", "traces.mark": "*,ctrl+/", "traces.group": "shift+ctrl+f12,漢"}
    assert usable_keys(signs) == (signs | {"traces.mark": "*,ctrl+slash", "traces.group": "ctrl+shift+f12,漢"}, [])


@pytest.mark.parametrize(
    ("name", "key", "other"),
    [
        ("traces.group", "j", "rows.down"),
        ("rows.down", "u", "traces.group"),
        ("traces.sort", "ctrl+i", "screen.next"),
        ("trace.pin", ".", "timeline.zoom_span"),
        ("text.copy", "m", "timeline.next_llm"),
        ("app.sql", "f7", "query.select_all"),
        ("editor.help", "ctrl+s", "note.done"),
    ],
)
def test_a_key_of_another_part_of_the_same_place_is_a_conflict(name, key, other):
    assert usable_keys({name: key}) == ({}, [f"keys: {key!r} for {name!r} is the key of {other!r} already"])


def test_parts_that_are_never_there_together_and_keys_that_are_free_again_may_share():
    for wanted in (
        {"traces.group": "j", "rows.down": "down"},
        {"trace.search": "f3", "text.find": "f3"},
        {"trace.where": "ctrl+w"},
    ):
        assert usable_keys(wanted) == (wanted, [])


def test_a_link_to_the_settings_stays_a_link(tmp_path):
    kept, path = tmp_path / "kept.toml", tmp_path / "settings.toml"
    kept.write_text('[keys]\n"app.help" = "f1"\n', encoding="utf-8")
    path.symlink_to(kept)
    read_settings(path).remember_theme("light")
    assert path.is_symlink()
    assert read_settings(kept) == Settings(kept, "light", {"app.help": "f1"})
    assert {each.name for each in tmp_path.iterdir()} == {"kept.toml", "settings.toml"}


def test_the_theme_is_remembered_beside_what_else_stands_there(tmp_path):
    path = tmp_path / "new" / "settings.toml"
    assert read_settings(path) == Settings(path)
    Settings(path).remember_theme("light")
    assert read_settings(path).theme == "light"
    path.write_text('# mine\n[keys]\n"app.help" = "f1"\n', encoding="utf-8")
    Settings(path).remember_theme("light")
    assert read_settings(path) == Settings(path, "light", {"app.help": "f1"})
    assert "# mine" in Path(path).read_text(encoding="utf-8")


def test_the_page_lists_all_keys_as_they_are():
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")
    told = [line for line in page.splitlines() if re.match(r"\| `[a-z]+\.", line)]
    shown = [(b.id, " ".join(f"`{display(key)}`" for key in b.key.split(",")), b.description) for b in all_bindings()]
    assert sorted(told) == sorted(f"| `{id_}` | {keys} | {words} |" for id_, keys, words in shown)
    assert {line[4:].capitalize() for line in page.splitlines() if line.startswith("### ")} == {
        title.capitalize() for title in TITLES.values()
    }


# A single letter, or the name of a key, that stands alone in a sentence.
_NAMES_A_KEY = re.compile(
    r"(?:^|[\s(;,])(?:[b-zB-HJ-Z]|esc|enter|ctrl\+\w|\^\w) (?:once|again|shows|opens|saves|marks|\w+s )"
)


def test_no_sentence_names_a_key_by_itself():
    """A key that was remapped would be named wrongly: ``key_for`` says how it is written."""
    found = []
    for path in (Path(__file__).parents[2] / "debugger" / "tui").rglob("*.py"):
        if path.name != "keymap.py":
            tree = ast.parse(path.read_text("utf-8"))
            bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
                    found += [f"{path.name}: {node.value}"] if _NAMES_A_KEY.search(node.value) else []
    assert found == []
    assert _NAMES_A_KEY.search("q leaves Retrospan. d once more removes it")
