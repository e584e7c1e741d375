"""What a newcomer is told to type is the same everywhere, and the pins behind it are complete."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.repo import ROOT, blocks_of, setup_commands

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def test_readme_has_two_set_up_commands_of_one_line_each():
    commands = setup_commands()
    assert len(commands) == 2
    assert all("\n" not in command for command in commands)
    assert commands[0].endswith("/retrospan demo")
    assert commands[1].endswith("/pytest")


def test_both_commands_start_from_a_bare_python_and_use_the_pins():
    for command in setup_commands():
        steps = command.split(" && ")
        assert steps[0] == "python3 -m venv .venv"
        assert "-c constraints.txt" in steps[1]
        assert all(step.startswith(".venv/bin/") for step in steps[1:])


def test_ci_runs_the_test_command_word_for_word():
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert setup_commands()[1] in script.splitlines()
    assert script.startswith("#!/usr/bin/env bash\n")
    assert "set -euo pipefail" in script


@pytest.mark.parametrize("tool", ["ruff check", "ruff format --check", "mypy", "lint-imports", "retrospan demo"])
def test_ci_runs(tool):
    assert f".venv/bin/{tool}" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_pins_are_exact_and_name_no_host():
    for name, version in pins().items():
        assert name == canonicalize_name(name)
        assert re.fullmatch(r"[0-9][0-9a-z.]*", version), f"{name} is not pinned exactly"


def needed(requirements: list[str], extra: str = "") -> set[str]:
    """Names of what the requirements bring in here, theirs included."""
    found: set[str] = set()
    queue = [Requirement(text) for text in requirements]
    while queue:
        requirement = queue.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        below = list(distribution(name).requires or ())
        if name not in found:
            found.add(name)
            queue += map(Requirement, below)
        for wanted in requirement.extras:
            found |= needed(below, wanted)
    return found


def test_everything_that_is_installed_is_pinned():
    wanted = needed([*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]])
    assert wanted - pins().keys() == set()
    assert pins().keys() - wanted == set(), "pinned, but nothing needs it"


def test_pins_lie_in_the_ranges_that_users_get():
    requirements = map(Requirement, [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]])
    versions = pins()
    for requirement in requirements:
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement.name


def test_changelog_says_what_is_unreleased_in_one_line_each():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert text.count("\n## [Unreleased]\n") == 1
    unreleased = text.partition("\n## [Unreleased]\n")[2].partition("\n## ")[0]
    sections = re.findall(r"^### (.*)$", unreleased, re.MULTILINE)
    assert sections
    assert set(sections) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    for line in filter(None, unreleased.splitlines()):
        assert line.startswith(("### ", "- ")), f"an entry is one line: {line!r}"
        assert line.startswith("### ") or line.endswith("."), f"an entry is a sentence: {line!r}"


def test_readme_links_lead_somewhere():
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "sample_traces" / "README.md"):
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_block_says_its_language():
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for block in blocks_of(page.read_text("utf-8")):
            assert block.language in ("sh", "text", "python", "console"), page.name
