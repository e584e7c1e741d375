"""Real programs on real SDKs and frameworks: recorded in front of a provider, replayed unchanged with it stopped.

What is not installed is left out; README.md tells how to have all of it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from debugger.cli import main
from tests.runtime.models.servers import KEY, Says, serving

PROGRAMS = Path(__file__).parent / "programs"
INSTALLED = Path(os.environ.get("RETROSPAN_FRAMEWORKS", PROGRAMS))
PYTHON = next((str(found) for found in [INSTALLED / "venv" / "bin" / "python"] if found.exists()), sys.executable)
SCRIPT = (Says(calls=(("c1", "book", '{"city":"Lyon"}'),)), Says("There is a table in Lyon."))
NAMED = ("--tool", "book=booking.py:book")
KINDS = [
    ("openai_chat.py", "openai", NAMED),
    ("openai_responses.py", "openai", NAMED),
    ("anthropic_messages.py", "anthropic", NAMED),
    ("langgraph_agent.py", "langgraph", ()),
    ("pydantic_ai_agent.py", "pydantic_ai", ()),
    ("openai_agents_agent.py", "agents", ()),
]
STREAMED = KINDS[:3]
PLAIN = [*[pytest.param(*kind, marks=pytest.mark.thorough) for kind in STREAMED], *KINDS[3:]]
"""Ordinary runs ask the SDKs for streams alone: answers in one piece are the tests of the endpoint's."""


@cache
def installed(module: str) -> bool:
    """Whether the interpreter of the programs has the module."""
    ask = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([PYTHON, "-c", ask], check=False).returncode == 0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the programs, which is the current one."""
    shutil.copytree(
        PROGRAMS, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules", "__pycache__")
    )
    if (INSTALLED / "node_modules").exists():
        (tmp_path / "node_modules").symlink_to(INSTALLED / "node_modules")
    monkeypatch.chdir(tmp_path)
    # Frameworks that send traces of their own would do so to strangers.
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    return tmp_path


def record(monkeypatch, command, *words) -> str:
    """Record the program; the address of its provider, which is stopped."""
    with serving(*SCRIPT) as real:
        monkeypatch.setenv("OPENAI_BASE_URL", real.url)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", real.url)
        assert main(["record", "-o", "t.otlp.jsonl", *words, "--", *command]) == 0
        assert len(real.seen) == len(SCRIPT)
    return real.url


@contextmanager
def nobody_comes(url: str) -> Iterator[None]:
    """Where the provider was, connections are taken and counted."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", urlsplit(url).port or 0))
        listening.listen()
        listening.setblocking(False)
        yield
        with pytest.raises(BlockingIOError):
            listening.accept()


def booked(folder: Path) -> list[str]:
    return (folder / "booked.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize(
    ("program", "module", "words"),
    [*PLAIN, *[(f"{name} --stream", module, words) for name, module, words in STREAMED]],
    ids=lambda value: value if isinstance(value, str) and ".py" in value else "",
)
def test_recorded_and_replayed_with_the_provider_stopped(program, module, words, folder, monkeypatch, capfd):
    if not installed(module):
        pytest.skip(f"{module} is not installed")
    command = [PYTHON, *program.split()]
    url = record(monkeypatch, command, *words)
    recorded = capfd.readouterr().out
    assert recorded == "There is a table in Lyon.\n"
    assert booked(folder) == ["Lyon"]
    with nobody_comes(url):
        assert main(["replay", "t.otlp.jsonl", *words, "--", *command]) == 0, capfd.readouterr().err
    out, err = capfd.readouterr()
    assert out == recorded
    assert "same output as recorded" in err
    assert "3 hit" in err, "two model calls and the tool"
    assert booked(folder) == ["Lyon"], "in all, the tool ran once"


IN_NODE = ("--tool", "book=openai_chat.mjs:book")
JAVASCRIPT = [
    ("openai_chat.mjs", "openai", IN_NODE),
    ("openai_chat.mjs --stream", "openai", IN_NODE),
    ("openai_run_tools.mjs", "openai", ()),
    ("vercel_ai.mjs", "ai", ()),
    ("langchain_js.mjs", "@langchain/openai", ()),
    ("openai_agents.mjs", "@openai/agents", ()),
]


def node_with(folder: Path, package: str) -> str:
    """The interpreter; the test is skipped where it or the package is not there."""
    node = shutil.which("node")
    if node is None or not (folder / "node_modules" / package).exists():
        pytest.skip(f"node or npm's {package} is not installed")
    return node


@pytest.mark.parametrize(("program", "package", "words"), JAVASCRIPT, ids=[row[0] for row in JAVASCRIPT])
def test_javascript_is_answered_with_its_tools(program, package, words, folder, monkeypatch, capfd):
    command = [node_with(folder, package), *program.split()]
    url = record(monkeypatch, command, *words)
    recorded = capfd.readouterr().out
    assert recorded == "There is a table in Lyon.\n"
    with nobody_comes(url):
        assert main(["replay", "t.otlp.jsonl", *words, "--", *command]) == 0, capfd.readouterr().err
    out, err = capfd.readouterr()
    assert out == recorded
    assert "3 hit" in err, "two model calls and the tool"
    assert booked(folder) == ["Lyon"], "in all, the tool ran once"


def test_tools_of_javascript_that_nothing_answers_are_asked_about(folder, monkeypatch, capfd):
    command = [node_with(folder, "openai"), "openai_chat.mjs"]
    record(monkeypatch, command)
    assert main(["replay", "t.otlp.jsonl", "--", *command]) == 2
    err = capfd.readouterr().err
    assert "no framework with an adapter is imported there: book will really run" in err
    assert "--tool book=openai_chat.mjs:book" in err
    assert booked(folder) == ["Lyon"], "it was not started"
    assert main(["replay", "t.otlp.jsonl", "--run-tools", "--", *command]) == 0
    assert "tools that really ran: book" in capfd.readouterr().err
