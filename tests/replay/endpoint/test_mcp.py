"""MCP servers behind the proxy: recorded with their list of tools, then answered without them."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from urllib.parse import quote

import pytest

from debugger.replay.endpoint.adapters import routes_of
from debugger.replay.endpoint.door import Door
from debugger.replay.endpoint.server import Endpoint
from debugger.replay.endpoint.trail import Trail
from debugger.replay.endpoint.upstream import Upstream
from debugger.replay.program.environment import INJECTED
from debugger.replay.recording import Recording
from runtime.messages import Outcome, ToolDefinition

from .doors import recording_of, tape_for
from .recorded import TRACE, recorded_chat

SERVER = """
import json, sys
print("no protocol", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    out = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] == "initialize":
        out["result"] = {"protocolVersion": "1", "capabilities": {"tools": {}}, "serverInfo": {"name": "s"}}
    elif asked["method"] == "tools/list":
        out["result"] = {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}
    elif asked["params"]["name"] == "add":
        open("effects", "a").write("added\\n")
        out["result"] = {"content": [{"type": "text", "text": "3"}]}
    else:
        out["error"] = {"code": 1, "message": "no such tool"}
    print(json.dumps(out), flush=True)
"""
ASKED = [
    {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "1"}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": "list", "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1}}},
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "sub"}},
]


def talk(door, folder, asked, *, upstream=None):
    """The answers by id, through the proxy in front of the server."""
    told = routes_of(door)
    with Endpoint(door, extras=told.routes, desk=told.desk, upstream=upstream) as endpoint:
        settings = json.dumps({"url": endpoint.url, "port": endpoint.port})
        lines = "".join(json.dumps(message) + "\n" for message in asked)
        command = [sys.executable, str(INJECTED / "retrospan_inject" / "mcp_proxy.py"), sys.executable, "server.py"]
        done = subprocess.run(
            command,
            input=lines,
            env={"RETROSPAN_DOOR": settings},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert done.stderr == ""
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {message["id"]: message.get("result", message.get("error")) for message in found}


def test_a_server_is_recorded_and_then_not_needed(tmp_path):
    (tmp_path / "server.py").write_text(SERVER, "utf-8")
    path = tmp_path / "t.otlp.jsonl"
    door = Door(Trail(path, name="t", input={}))
    recorded = talk(door, tmp_path, ASKED)
    door.trail.close(Outcome(status="ok"))
    assert recorded[2] == {"content": [{"type": "text", "text": "3"}]}
    assert recorded[3] == {"code": 1, "message": "no such tool"}
    (tmp_path / "server.py").unlink()
    recording = recording_of(path)
    found = talk(Door(Trail(None, name="r", input={}), tape_for(recording)), tmp_path, ASKED)
    assert {key: found[key] for key in (0, "list", 2)} == {key: recorded[key] for key in (0, "list", 2)}
    assert found[3] == {"content": [{"type": "text", "text": "no such tool"}], "isError": True}
    assert (tmp_path / "effects").read_text() == "added\n"


def test_a_recording_without_the_server_lists_what_models_were_offered():
    calls = recorded_chat()
    look = ToolDefinition("look", "Look.", {"type": "object", "properties": {"at": {}}})
    object.__setattr__(calls[0], "tool_definitions", (look,))
    door = Door(Trail(None, name="r", input={}), tape_for(Recording(TRACE, calls, [])))
    desk = routes_of(door).desk
    assert desk is not None

    def ask(method, **params):
        return desk.ask("any", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})["message"]

    assert ask("initialize", protocolVersion="x")["result"]["protocolVersion"] == "x"
    assert [tool["name"] for tool in ask("tools/list")["result"]["tools"]] == ["look"]
    shown = ask("tools/call", name="look", arguments={"at": "sky"})["result"]
    assert shown == {"content": [{"type": "text", "text": '{"is":"blue"}'}], "isError": False}
    assert ask("prompts/list")["result"] == {"prompts": []}
    assert ask("sampling/x")["error"]["code"] == -32601
    assert "no recorded answer" in ask("tools/call", name="look", arguments={"at": "sky"})["error"]["message"]
    assert desk.ask("any", {"jsonrpc": "2.0", "method": "notifications/initialized"}) == {"do": "nothing"}


@pytest.mark.parametrize(
    "message", [None, [], {}, {"id": 1}, {"method": 3, "id": 1}, {"method": "tools/call", "params": 1}]
)
def test_odd_messages_are_no_crash(message):
    door = Door(Trail(None, name="r", input={}), tape_for(Recording(TRACE, recorded_chat(), [])))
    desk = routes_of(door).desk
    assert desk is not None
    assert desk.ask("any", message)["do"] in ("nothing", "reply")
    desk.told("any", message)


def test_over_http(tmp_path):
    door = Door(Trail(None, name="r", input={}), tape_for(Recording(TRACE, recorded_chat(), [])))
    told = routes_of(door)
    with Endpoint(door, extras=told.routes, desk=told.desk) as endpoint:

        def send(method, body=None):
            connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=300)
            address = quote("https://mcp.example.org/", safe="")
            connection.request(method, f"/{endpoint.token}/mcp?server={address}", body and json.dumps(body))
            answer = connection.getresponse()
            text = answer.read()
            connection.close()
            return answer.status, json.loads(text) if text else None

        called = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "look", "arguments": {"at": "sky"}},
        }
        assert send("POST", called)[1]["result"]["content"][0]["text"] == '{"is":"blue"}'
        assert send("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}) == (202, None)
        assert send("GET")[0] == 405
        assert send("DELETE") == (200, None)
    assert Upstream({}).reach("file:///etc/passwd", "POST", {}, b"").args
