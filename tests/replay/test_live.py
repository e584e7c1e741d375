"""Where a rebuilt agent's model is asked, what a live run says before, named commands, and later inputs."""

from __future__ import annotations

import asyncio
import io
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from debugger.cli import main
from debugger.conventions import call_of
from debugger.replay.reconstruct import live
from debugger.replay.reconstruct.build import rebuild
from debugger.replay.reconstruct.live import LiveModel, place_of
from debugger.replay.reconstruct.tools import implementations
from debugger.replay.recording import Recording
from runtime.errors import ModelError, ModelSetupError, ToolError
from runtime.messages import Message, Request, TextPart, text_of
from runtime.trace import Span
from tests.runtime.models.servers import KEY, Raw, Says, serving

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


def ask_live(monkeypatch, *script: Says | Raw) -> list[str]:
    """The paths at which a request is asked that had gone through the responses API; it must be answered."""
    request = Request(messages=(Message("user", (TextPart("Rome?"),)),), model="gpt-5", api="responses")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(*script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        reply = asyncio.run(LiveModel("gpt-5", "openai").generate(request))
        assert text_of([reply.message]) == "Rain."
        return [seen.path for seen in server.seen]


def test_what_went_through_the_responses_api_goes_through_it_again(monkeypatch):
    assert ask_live(monkeypatch, Says("Rain.")) == ["/responses"]
    no_route = Raw(404, '{"detail": "Not Found"}')
    assert ask_live(monkeypatch, no_route, Says("Rain.")) == ["/responses", "/chat/completions"]
    with pytest.raises(ModelError):
        ask_live(monkeypatch, Raw(400, '{"error": {"message": "no"}}'))


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("openai.response", {}),
        ("Responses API with {gen_ai.request.model!r}", {}),
        ("OpenAI Responses", {}),
        ("chat gpt-5", {"openai.api.type": "responses"}),
        ("ai.generateText.doGenerate", {"ai.model.provider": "openai.responses"}),
    ],
)
def test_producers_say_which_api_they_asked(name, attributes):
    asked = '[{"role": "user", "parts": [{"type": "text", "content": "Rome?"}]}]'
    common = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": asked}
    span = Span(
        trace_id="a" * 32,
        span_id="b" * 16,
        parent_span_id=None,
        name=name,
        start_unix_nano=1,
        end_unix_nano=2,
        attributes={**common, **attributes},
    )
    call = call_of(span)
    assert call.api == "responses"
    assert rebuild(Recording(call.trace_id, [call], [])).script.settings[0].api == "responses"
    assert call_of(replace(span, name="response time", attributes=common)).api is None


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


def test_a_missing_sdk_is_said_in_one_line_before_the_cost(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(live, "find_spec", lambda name: None)
    sample = Path(__file__).parents[2] / "sample_traces" / "vercel_ai.otlp.jsonl"
    trace = "550ee247e074"
    assert main(["replay", str(sample), "--trace", trace, "--mode", "live", "--yes"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "asks the real model" not in said.err
    assert [line for line in said.err.splitlines() if "not installed" in line or "pip install" in line] == [
        "retrospan: a live replay of this trace needs openai, not installed here; pip install 'retrospan[openai]', "
        "or in a checkout pip install '.[openai]'"
    ]
    folder = tmp_path / "several"
    folder.mkdir()
    (folder / "a.otlp.jsonl").write_bytes(sample.read_bytes())
    assert main(["replay", str(folder), "--mode", "live", "--yes"]) == 1
    assert f"trace {trace}: a live replay of this trace needs openai" in capsys.readouterr().err


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
