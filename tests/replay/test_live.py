"""Where a rebuilt agent's model is asked, what a live run says before, named commands, and later inputs."""

from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path

import pytest

from debugger.cli import main
from debugger.replay.reconstruct.live import place_of
from debugger.replay.reconstruct.tools import implementations
from runtime.errors import ModelSetupError, ToolError

OWN_URL = {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}


@pytest.mark.parametrize(
    ("provider", "model", "environment", "protocol", "url", "key"),
    [
        (None, "m", {}, "openai", None, "OPENAI_API_KEY"),
        ("openai", "m", OWN_URL, "openai", OWN_URL["OPENAI_BASE_URL"], "OPENAI_API_KEY"),
        ("azure.ai.openai", "m", OWN_URL, "openai", OWN_URL["OPENAI_BASE_URL"], "OPENAI_API_KEY"),
        ("somebody", "m", OWN_URL, "openai", OWN_URL["OPENAI_BASE_URL"], "OPENAI_API_KEY"),
        ("groq", "m", {"GROQ_API_KEY": "k"}, "openai", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
        ("groq", "m", OWN_URL, "openai", OWN_URL["OPENAI_BASE_URL"], "OPENAI_API_KEY"),
        ("anthropic", "claude", {}, "anthropic", None, "ANTHROPIC_API_KEY"),
        ("aws.bedrock", "eu.anthropic.claude-x", {"ANTHROPIC_API_KEY": "k"}, "anthropic", None, "ANTHROPIC_API_KEY"),
        ("aws.bedrock", "claude-x", OWN_URL, "openai", OWN_URL["OPENAI_BASE_URL"], "OPENAI_API_KEY"),
    ],
)
def test_where_a_model_is_asked(provider, model, environment, protocol, url, key):
    assert place_of(provider, model, environment) == (protocol, url, key)


@pytest.mark.parametrize("provider", ["azure.ai.openai", "aws.bedrock", "groq"])
def test_without_a_place_the_fault_says_what_to_set(provider):
    with pytest.raises(ModelSetupError, match="OPENAI_BASE_URL"):
        place_of(provider, "m", {})


def command(tmp_path: Path, code: str) -> str:
    script = tmp_path / "tool.py"
    script.write_text(code, "utf-8")
    return f"!{sys.executable} {script}"


def test_a_command_reads_arguments_and_prints_the_result(tmp_path):
    code = "import json, sys\nprint(json.dumps({'got': json.load(sys.stdin)['city']}))\n"
    tools = implementations({"look": command(tmp_path, code)})
    assert asyncio.run(tools["look"]({"city": "Rome"})) == {"got": "Rome"}
    tools = implementations({"look": command(tmp_path, "print('plain text')\n")})
    assert asyncio.run(tools["look"]({})) == "plain text"


def test_a_command_that_fails_is_a_failed_tool_with_its_last_words(tmp_path):
    tools = implementations({"look": command(tmp_path, "import sys\nsys.exit('no such city')\n")})
    with pytest.raises(ToolError, match="exit code 1: no such city"):
        asyncio.run(tools["look"]({}))


class Terminal(io.StringIO):
    """Standard input of someone who sits before a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("traces", ["travel_desk.otlp.jsonl", "."], ids=["one", "several"])
def test_a_live_replay_starts_only_when_the_user_agrees(
    traces: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = Path(__file__).parents[2] / "sample_traces"
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["replay", str(samples / traces), "--mode", "live"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "asks the real model for what the recording does not answer." in said.err
    assert said.err.rstrip().endswith("retrospan: not started")
