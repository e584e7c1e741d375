"""The pages that describe formats, keys and commands are complete."""

from __future__ import annotations

import re

import pytest

from debugger.commands import COMMANDS
from debugger.conventions import FAMILIES
from debugger.conventions.genai import _KINDS
from runtime.trace import EVENTS, _keys, read_spans
from runtime.trace._builder import SCOPE
from tests.support.repo import ROOT

FORMATS = (ROOT / "docs" / "formats.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
_QUOTED = set(re.findall(r"`([^`\n]+)`", FORMATS))


def own_samples():
    for path in sorted((ROOT / "sample_traces").glob("*.otlp.jsonl")):
        yield from (span for span in read_spans(path) if span.scope_name == SCOPE[0])


def is_told(key: str) -> bool:
    return key in _QUOTED or (key.startswith(_keys.PARAMETER_PREFIX) and f"{_keys.PARAMETER_PREFIX}*" in _QUOTED)


@pytest.mark.parametrize("name", [n for n, v in vars(_keys).items() if n.isupper() and isinstance(v, str)])
def test_every_key_is_told(name):
    value = getattr(_keys, name)
    if value.endswith("."):
        assert any(word.startswith(value) for word in _QUOTED)
    else:
        assert value in _QUOTED


def test_every_attribute_of_our_samples_is_told():
    written = {key for span in own_samples() for key in span.attributes}
    assert len(written) > 20
    assert {key for key in written if not is_told(key)} == set()


def test_every_span_event_of_our_samples_is_told():
    names = {event.name for span in own_samples() for event in span.events}
    assert names
    assert names <= _QUOTED


def test_every_trace_event_is_told():
    assert sorted(EVENTS - _QUOTED) == []


def test_every_convention_of_other_producers_is_told_in_its_order():
    table = [
        word for word in re.findall(r"^\| `(\w+)` \|", FORMATS, re.MULTILINE) if word in {f.name for f in FAMILIES}
    ]
    assert table == [family.name for family in FAMILIES]


def test_every_operation_is_told():
    assert set(_KINDS) - _QUOTED == set()


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_readme_names_each_command(command):
    assert re.search(rf"`retrospan {command}\b", README)


def test_readme_names_no_command_or_option_that_is_not_there():
    from debugger.cli import build_parser

    names = {command.name for command in COMMANDS}
    told = set(re.findall(r"`retrospan ([a-z-]+)\b", README))
    assert told <= names
    options = set(re.findall(r"(?<![\w-])--[a-z]+", "".join(re.findall(r"`[^`]*`", README))))
    helps = ""
    for name in names:
        parser = build_parser([name])
        subparsers = next(a for a in parser._actions if hasattr(a, "choices") and a.choices)
        helps += subparsers.choices[name].format_help()
    assert {option for option in options if option not in helps} == set()


def test_readme_keys_are_the_keys_of_the_program():
    from debugger.tui import keymap

    shown = set()
    for bindings in keymap._KEYS.values():
        for binding in bindings:
            shown |= set(keymap.display(binding.key).split())
    table = README.partition("\n## Keys\n")[2].partition("\n## ")[0]
    told = {key for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for key in re.findall(r"`([^`]+)`", row)}
    assert len(told) > 15
    assert told - shown == set()
