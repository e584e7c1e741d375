"""What a module really loads, seen from fresh interpreters, and the contracts of pyproject.toml."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repo import ROOT

HEAVY = ("anthropic", "duckdb", "msgspec", "openai", "opentelemetry", "pydantic", "rich", "textual")


def loaded(code: str, tmp_path: Path) -> set[str]:
    """The top-level names of all modules that are loaded once the code has run."""
    ask = f"import sys, json\n{code}\nprint(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    ("module", "never"),
    [
        ("runtime", HEAVY),
        ("runtime.messages", HEAVY),
        ("runtime.trace", HEAVY),
        ("runtime.journal", HEAVY),
        ("runtime.snapshot", HEAVY),
        ("runtime.models", ("anthropic", "duckdb", "msgspec", "openai", "opentelemetry", "rich", "textual")),
        ("runtime.agents", ("anthropic", "duckdb", "msgspec", "openai", "opentelemetry", "rich", "textual")),
        ("debugger", HEAVY),
        ("debugger.cli", HEAVY),
        ("debugger.conventions", ("duckdb", "opentelemetry", "pydantic", "rich", "textual")),
        ("debugger.importers", ("duckdb", "opentelemetry", "pydantic", "rich", "textual")),
        ("debugger.store", ("opentelemetry", "pydantic", "rich", "textual")),
        ("debugger.replay.model", HEAVY),
        ("debugger.replay.run", ("duckdb", "opentelemetry", "rich", "textual")),
        ("debugger.replay.child", ("duckdb", "msgspec", "rich", "textual")),
    ],
)
def test_module_loads_only_what_it_needs(module, never, tmp_path):
    assert loaded(f"import {module}", tmp_path) & set(never) == set()


@pytest.mark.parametrize(
    ("package", "never"),
    [
        ("analysis", ("duckdb", "textual", "opentelemetry", "pydantic")),
        ("commands", HEAVY),
        ("conventions", ("duckdb",)),
    ],
)
def test_no_module_of_the_package_loads(package, never, tmp_path):
    modules = sorted((ROOT / "debugger" / package).glob("*.py"))
    assert len(modules) > 3
    code = "\n".join(f"import debugger.{package}.{path.stem}" for path in modules if path.stem != "__init__")
    assert loaded(code, tmp_path) & set(never) == set()


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_come_at_once(option, tmp_path):
    names = loaded(f"from debugger.cli import main\nmain([{option!r}])", tmp_path)
    assert names & {*HEAVY, "asyncio"} == set()


def test_nothing_of_ours_takes_the_place_of_a_users_module(tmp_path):
    (tmp_path / "runtime.py").write_text("raise SystemExit('the wrong runtime')\n", "utf-8")
    (tmp_path / "debugger.py").write_text("name = 'mine'\n", "utf-8")
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nimport debugger\nfrom runtime.messages import Message"
    assert "runtime" in loaded(code, tmp_path)


def test_import_contracts_hold():
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
