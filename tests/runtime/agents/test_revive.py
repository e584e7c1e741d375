"""Recorded errors as exceptions, also of classes that do not want to be made."""

from __future__ import annotations

import sys
import types

import pytest

from runtime.agents._revive import revive
from runtime.errors import ReplayedError
from runtime.messages import ErrorInfo


class NeedsError(Exception):
    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(f"code {code}")


class LeavesOnNewError(Exception):
    def __new__(cls, *args):
        raise SystemExit(3)


class LeavesOnStrError(Exception):
    def __str__(self):
        raise SystemExit(4)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ValueError", ValueError),
        ("KeyError", KeyError),
        (f"{__name__}.NeedsError", NeedsError),
        ("no.such.Module", ReplayedError),
        ("SystemExit", ReplayedError),
        ("StopIteration", ReplayedError),
        ("StopAsyncIteration", ReplayedError),
        ("runtime.errors.ReplayedError", ReplayedError),
        (f"{__name__}.LeavesOnNewError", ReplayedError),
        ("os._exit", ReplayedError),
        ("", ReplayedError),
        ("..", ReplayedError),
    ],
)
def test_a_recorded_error_keeps_its_class_where_that_can_be_made(name, kind):
    error = revive(ErrorInfo(name, "what happened"))
    assert isinstance(error, kind)
    assert str(error) == "what happened"
    if type(error) is ReplayedError:
        assert error.type_name == name


def test_a_class_that_ends_the_process_when_printed_is_stood_in_for():
    error = revive(ErrorInfo(f"{__name__}.LeavesOnStrError", "text"))
    assert str(error) == "text"


def test_a_module_that_raises_on_look_up_is_passed_over(monkeypatch):
    class Rude(types.ModuleType):
        def __getattr__(self, name):
            raise RuntimeError(name)

    monkeypatch.setitem(sys.modules, "rude_module", Rude("rude_module"))
    assert type(revive(ErrorInfo("rude_module.Thing", "x"))) is ReplayedError
