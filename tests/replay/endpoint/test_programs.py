"""Programs in processes of their own: tools of frameworks and plain functions are answered, sockets are shut.

The frameworks are small fakes with the interface that the adapters reach into; scripts outside of the suite do the same
with the real ones.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from debugger.replay.program.environment import INJECTED, PLACEHOLDER, environment_for, named_endpoints
from debugger.replay.program.tools import foresee
from debugger.replay.recording import Recording

from .doors import replaying, statuses
from .recorded import TRACE, asks_for, call, recorded_chat, result, says, turn, user

LANGCHAIN = """
class BaseTool:
    name, func, coroutine = "look", None, None
    tool_call_schema = {"properties": {"at": {}}}
    def run(self, tool_input, tool_call_id=None, **kwargs):
        ran("langchain")
    async def arun(self, tool_input, tool_call_id=None, **kwargs):
        ran("langchain")
"""
MESSAGES = """
class ToolMessage:
    def __init__(self, content, *, tool_call_id, name, status):
        self.content, self.status = content, status
"""
AGENTS = """
from dataclasses import dataclass
from typing import Any
@dataclass
class FunctionTool:
    name: str
    on_invoke_tool: Any
    def __post_init__(self):
        pass
"""
PYDANTIC = """
class FunctionToolset:
    async def call_tool(self, name, tool_args, ctx, tool):
        ran("pydantic-ai")
"""
PROGRAM = """
import asyncio, dataclasses, json, os, socket, sys, urllib.request
from types import SimpleNamespace
def ran(who): print("RAN", who)
import builtins; builtins.ran = ran
from langchain_core.tools.base import BaseTool
from agents.tool import FunctionTool
from pydantic_ai.toolsets.function import FunctionToolset

def look(at, extra=1) -> str:
    ran("function")
async def alook(at):
    ran("async function")
def closed():
    free = 1
    def inner(at):
        return ran(free)
    return inner
inner = closed()
KEPT = {"look": look}

def ask():
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body)
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]

async def invoke(ctx, given): ran("openai-agents")

async def main():
    context = SimpleNamespace(tool_name="look", tool_call_id="c1")
    print("langchain", BaseTool().run({"at": "sky", "state": 3}, tool_call_id="c1").content)
    print("langchain", (await BaseTool().arun({"at": "sky"}, tool_call_id="c2")).content)
    tool = dataclasses.replace(FunctionTool("look", invoke), name="look")
    print("agents", await tool.on_invoke_tool(context, '{"at": "sky"}'))
    print("pydantic", await FunctionToolset().call_tool("look", {"at": "sky"}, context, None))

print("answer", ask())
asyncio.run(main())
print("function", KEPT["look"]("sky"))
print("async function", asyncio.run(alook(at="sky")))
print("closure", inner("sky"))
try:
    look("ground")
except Exception as error:
    print("miss", type(error).__name__, "ground" in str(error))
for address in (("192.0.2.1", 80), ("127.0.0.1", 9)):
    try:
        socket.create_connection(address, timeout=1)
    except Exception as error:
        print("network", type(error).__name__)
print("key", os.environ["OPENAI_API_KEY"])
"""


def looks(number: int) -> list:
    """A greeting, and a look at the sky so many times."""
    look = asks_for(("c1", "look", {"at": "sky"}))
    fields = {"tool_name": "look", "arguments": {"at": "sky"}, "result": "blue", "has_result": True}
    tools = [call(n, "tool", **fields) for n in range(10, 10 + number)]
    last = turn(90, (user("look"), look, result("c1", "blue as ever")), says("It is blue."))
    return [turn(1, (user("hi"),), says("hello")), turn(2, (user("look"),), look), *tools, last]


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for parent in path.relative_to(folder).parents:
            if parent.name:
                (folder / parent / "__init__.py").touch()
        path.write_text(text, "utf-8")


def run(endpoint, folder, *words, **settings):
    adapters = {"tools": "answer", "functions": [], "block": True, **settings}
    env = environment_for(endpoint, strict=True, adapters=adapters, endpoints={})
    return subprocess.run([sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=300)


@pytest.fixture
def frameworks(tmp_path):
    files = {"langchain_core/tools/base.py": LANGCHAIN, "langchain_core/messages.py": MESSAGES}
    files |= {"agents/tool.py": AGENTS, "pydantic_ai/toolsets/function.py": PYDANTIC, "program.py": PROGRAM}
    write(tmp_path, files)
    return tmp_path


def test_no_tool_of_a_framework_and_no_named_function_runs(frameworks):
    functions = ["look=program.py:look", "look=program.py:alook", "look=program.py:inner"]
    with replaying(Recording(TRACE, looks(7), [])) as endpoint:
        done = run(endpoint, frameworks, "program.py", functions=functions)
        assert done.stdout.splitlines() == [
            "answer hello",
            "langchain blue as ever",
            "langchain blue",
            "agents blue as ever",
            "pydantic blue as ever",
            "function blue",
            "async function blue",
            "closure blue",
            "miss NoRecordedAnswerError True",
            "network NetworkBlockedError",
            "network NetworkBlockedError",
            f"key {PLACEHOLDER}",
        ], done.stderr
        assert statuses(endpoint) == ["hit"] * 8 + ["missed"]


def test_a_framework_of_another_make_is_not_run_unanswered(frameworks):
    (frameworks / "agents" / "tool.py").write_text("class Other: pass", "utf-8")
    with replaying(Recording(TRACE, looks(1), [])) as endpoint:
        done = run(endpoint, frameworks, "-c", "import agents.tool; print('went on')")
    assert done.returncode == 1
    assert "no adapter for this version of agents.tool" in done.stderr
    assert "went on" not in done.stdout


def test_the_programs_own_sitecustomize_still_runs(tmp_path, monkeypatch):
    write(tmp_path, {"sitecustomize.py": "print('own')"})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with replaying(Recording(TRACE, looks(1), [])) as endpoint:
        done = run(endpoint, tmp_path, "-c", "print('program')")
    assert done.stdout.split() == ["own", "program"], done.stderr


def test_adapters_that_cannot_be_loaded_stop_the_program(tmp_path):
    with replaying(Recording(TRACE, looks(1), [])) as endpoint:
        env = environment_for(endpoint, strict=True, adapters={}, endpoints={}) | {"RETROSPAN_DOOR": "{"}
        done = subprocess.run(
            [sys.executable, "-c", "print('ran')"], env=env, capture_output=True, text=True, timeout=300
        )
    assert (done.returncode, done.stdout) == (70, "")
    assert "the program is not started" in done.stderr


def test_the_environment_leads_to_the_endpoint(monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://example.openai.azure.com")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    monkeypatch.setenv("NO_PROXY", "example.org")
    named = named_endpoints(["GROQ_BASE_URL=https://api.example.org"])
    with replaying(Recording(TRACE, recorded_chat(), [])) as endpoint:
        env = environment_for(endpoint, strict=True, adapters=None, endpoints=named)
        live = environment_for(endpoint, strict=False, adapters=None, endpoints={})
        assert env["OPENAI_BASE_URL"] == env["OPENAI_API_BASE"] == f"{endpoint.url}/v1"
        assert env["ANTHROPIC_BASE_URL"] == endpoint.url
        assert env["GROQ_BASE_URL"] == f"{endpoint.url}/-/GROQ_BASE_URL"
        assert env["AZURE_OPENAI_ENDPOINT"] == f"{endpoint.url}/-/AZURE_OPENAI_ENDPOINT"
    assert (env["OPENAI_API_KEY"], live["OPENAI_API_KEY"]) == (PLACEHOLDER, "sk-real")
    assert env["NO_PROXY"] == "example.org,127.0.0.1"
    assert "PYTHONPATH" not in env or str(INJECTED) not in env["PYTHONPATH"]


def test_which_tools_would_run_is_foreseen(tmp_path):
    calls = looks(1)
    plain, framed = tmp_path / "plain.py", tmp_path / "framed.py"
    plain.write_text("def look(at): ...", "utf-8")
    (tmp_path / "mine.py").write_text("from langchain.agents import create_agent", "utf-8")
    framed.write_text("import mine", "utf-8")
    python = [sys.executable]
    assert foresee(calls, [*python, str(plain)], []).open == ("look",)
    assert foresee(calls, [*python, str(plain)], []).suggested == (f"look={plain}:look",)
    assert foresee(calls, [*python, str(plain)], [f"look={plain}:look"]).open == ()
    assert foresee(calls, [*python, str(plain)], [f"look={plain}:gaze"]).open == ()
    assert foresee(calls, [*python, str(framed)], []).open == ()
    assert foresee(calls, ["deno", "agent.js"], []).why.endswith("that is neither Python nor Node.js")
    assert foresee(calls[:1], ["node", "agent.js"], []).open == ()


def test_a_hostile_name_reaches_no_program(tmp_path):
    """What the door answers is data: a recorded error is raised by a builtin class or by ours, nothing is looked up."""
    code = "from retrospan_inject.door import error_of as e; print([type(e(n, 'm')).__name__ for n in %s])"
    names = ["ValueError", "os.system", "SystemExit", "KeyboardInterrupt", "UnicodeDecodeError", "print", ""]
    done = subprocess.run(
        [sys.executable, "-c", code % json.dumps(names)], cwd=INJECTED, capture_output=True, text=True
    )
    assert done.stdout.strip() == str(["ValueError", *["RecordedToolError"] * 6]), done.stderr
