"""The public names are one list, ``public_names.txt``: a change to it is a change of what programs rely on."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

import runtime
from runtime import errors

LIST = Path(__file__).with_name("public_names.txt")
PACKAGES = ["", ".agents", ".errors", ".journal", ".messages", ".models", ".snapshot", ".tools", ".trace"]


def module(package: str) -> ModuleType:
    return importlib.import_module(f"runtime{package}")


def names_of(package: str) -> list[str]:
    found = module(package)
    # The module of errors has no list of its own: what it defines is public.
    own = [name for name, value in vars(found).items() if getattr(value, "__module__", "") == found.__name__]
    return [f"runtime{package}.{name}" for name in getattr(found, "__all__", own) if not name.startswith("_")]


def test_the_public_names_are_those_of_the_list() -> None:
    found = sorted(name for package in PACKAGES for name in names_of(package))
    assert found == LIST.read_text("utf-8").split(), f"where this is meant, write the names to {LIST.name}"


def test_no_package_is_left_out_of_the_list() -> None:
    folders = {path.parent.name for path in Path(runtime.__file__).parent.glob("*/__init__.py")}
    assert folders == {package[1:] for package in PACKAGES} - {"", "errors"}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there_and_stands_in_the_list_once(package: str) -> None:
    names = getattr(module(package), "__all__", [])
    assert [name for name in names if not hasattr(module(package), name)] == []
    assert len(names) == len(set(names))


def test_a_name_that_is_not_there_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="'runtime' has no attribute 'nothing'"):
        _ = runtime.nothing  # type: ignore[attr-defined]


def test_the_tree_of_errors_shows_each_of_them() -> None:
    kinds = {name for name, value in vars(errors).items() if isinstance(value, type)}
    drawn = set(re.findall(r"[A-Z]\w+(?:Error|Fault|Stop)\b", errors.__doc__ or ""))
    assert kinds == drawn - {"RestoreError"}
