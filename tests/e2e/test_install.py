"""The README's first command in a copy of the project, and the installed wheel that it leaves in a clean environment.

One installation serves all tests here. They need a package index; without one they are skipped, and only then.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repo import ROOT, project_files, setup_commands

OWN_SAMPLES = ("order_watch", "refund_desk", "research_team", "travel_desk")
_NO_INDEX = re.compile(
    r"NewConnectionError|ConnectTimeoutError|NameResolutionError|ReadTimeoutError|ProxyError"
    r"|Temporary failure in name resolution|Failed to establish a new connection"
)


class Installed:
    """A clean environment with the wheel in it, used from a folder that has nothing of the project."""

    def __init__(self, project: Path, output: str) -> None:
        self.output = output
        self.folder = project.parent / "elsewhere"
        self.folder.mkdir()
        self.bin = project / ".venv" / "bin"
        self.site = Path(
            self.run("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
        )
        self.samples = self.site / "debugger" / "samples"

    def run(self, program: str, *args: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(self.bin / program), *map(str, args)],
            cwd=self.folder, env=clean_environment(self.folder), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, encoding="utf-8", timeout=300,
        )  # fmt: skip
        assert done.returncode == code, f"{program} {args}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done


def clean_environment(home: Path) -> dict[str, str]:
    """The environment without what this test run has set up for itself."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "PYTEST", "COLUMNS"))}
    path = [p for p in os.environ["PATH"].split(os.pathsep) if Path(p) != Path(sys.executable).parent]
    return kept | {"PATH": os.pathsep.join(path), "HOME": str(home), "PYTHONUTF8": "1"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    project = tmp_path_factory.mktemp("bare") / "retrospan"
    for path in project_files():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, project / path)
    # The command says python3; here that is the interpreter under test.
    tools = project.parent / "tools"
    tools.mkdir()
    (tools / "python3").symlink_to(Path(sys.executable).resolve())
    environment = clean_environment(project.parent)
    environment |= {"PATH": f"{tools}{os.pathsep}{environment['PATH']}"}
    # pip's cache of downloads is no part of a fresh machine, but of the time that these tests take.
    cache = subprocess.run([sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True)
    if cache.returncode == 0:
        environment["PIP_CACHE_DIR"] = cache.stdout.strip()
    done = subprocess.run(
        ["bash", "-c", setup_commands()[0]], cwd=project, env=environment, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, encoding="utf-8", timeout=600,
    )  # fmt: skip
    if done.returncode and (why := _NO_INDEX.search(done.stderr)):
        pytest.skip(f"pip reaches no package index ({why[0]}), so nothing can be installed")
    assert done.returncode == 0, done.stderr
    return Installed(project, done.stdout)


def test_first_command_walks_through_the_main_job(installed):
    for said in (
        "invoke_workflow travel_desk",
        "the state before execute_tool book_museum",
        "the state after execute_tool book_museum",
        "✓ same output as recorded",
    ):
        assert said in installed.output


def test_wheel_holds_samples_queries_styles_and_type_marks(installed):
    for path in project_files():
        if path.parts[0] in ("debugger", "runtime"):
            assert (installed.site / path).is_file(), path
        if path.parts[0] == "sample_traces":
            assert (installed.samples / path.relative_to("sample_traces")).is_file(), path
    for pattern in ("debugger/py.typed", "runtime/py.typed", "debugger/store/sql/*.sql", "debugger/tui/*.tcss"):
        assert list(installed.site.glob(pattern)), pattern
    for pattern in ("*.otlp.jsonl", "*.otlp.jsonl.gz", "*.py", "README.md"):
        assert list(installed.samples.glob(pattern)), pattern


def test_wheel_brings_nothing_else(installed):
    ours = {line.split("/")[0] for line in record_of(installed) if not line.startswith("..")}
    # The plugin stands alone so that pytest imports nothing of ours, and so does the command, to catch every interrupt;
    # what pip compiled of them is not in the wheel.
    wanted = {"debugger", "runtime", "retrospan_main.py", "retrospan_pytest.py"}
    assert {name for name in ours if not name.startswith("retrospan-")} - {"__pycache__"} == wanted
    assert not [line for line in record_of(installed) if "/tests/" in line or ".otlp.jsonl.part" in line]


def record_of(installed) -> list[str]:
    (record,) = installed.site.glob("retrospan-*.dist-info/RECORD")
    return [line.split(",")[0] for line in record.read_text("utf-8").splitlines()]


def test_dependencies_fit_and_hold_no_test_tools(installed):
    installed.run("pip", "check")
    names = {p.name.partition("-")[0].lower() for p in installed.site.glob("*.dist-info")}
    assert not names & {"pytest", "mypy", "ruff", "hypothesis", "pyarrow", "numpy", "openai", "anthropic"}


def test_installed_samples_replay_by_their_entry_point(installed):
    samples = [installed.samples / f"{name}.otlp.jsonl" for name in OWN_SAMPLES]
    reports = json.loads(installed.run("retrospan", "replay", *samples, "--json").stdout)
    assert len(reports) == len(OWN_SAMPLES)
    for found in reports:
        assert found["misses"] == 0
        assert found["live"] == 0
        assert found["hits"] > 0
        assert found["same_output"] is True
    assert sorted(found["ended"] for found in reports) == ["done", "done", "done", "failed"]


def test_installed_commands_read_every_sample(installed):
    traces = json.loads(
        installed.run("retrospan", "list", *sorted(installed.samples.glob("*.otlp.json*")), "--json").stdout
    )
    assert len(traces) == 17
    assert sum(trace["spans"] for trace in traces) == 117


def test_a_users_modules_of_the_same_names_are_no_harm(installed):
    for name in ("runtime.py", "debugger.py"):
        (installed.folder / name).write_text("raise SystemExit('the wrong module')\n", "utf-8")
    trace = installed.samples / "travel_desk.otlp.jsonl"
    installed.run("retrospan", "replay", trace, "--json")
    shutil.copy(trace, installed.folder)
    shutil.copy(installed.samples / "travel_desk.py", installed.folder)
    report = installed.run("retrospan", "replay", "travel_desk.otlp.jsonl", "--json")
    assert json.loads(report.stdout)["same_output"] is True


def test_version_is_that_of_the_project(installed):
    wanted = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert wanted
    assert installed.run("retrospan", "--version").stdout == f"retrospan {wanted[1]}\n"
