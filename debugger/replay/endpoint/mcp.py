"""MCP servers as a program sees them: tool calls are answered from the recording, or passed on and recorded.

A server's greeting and its list of tools are recorded like tool calls of their own, under names that no tool can have,
so that a replay needs no server at all. Where a recording lacks them, the tools that models were offered are listed.

Source: the Model Context Protocol, JSON-RPC messages of lifecycle and tools.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final

from runtime.messages import ErrorInfo, Json
from runtime.models.wire import to_text

from .door import Door

_RECORDED: Final = {"initialize": "mcp/initialize", "tools/list": "mcp/tools/list"}
_EMPTY: Final[dict[str, dict[str, Json]]] = {
    "ping": {},
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": []},
    "prompts/list": {"prompts": []},
    "logging/setLevel": {},
}
_NO_METHOD: Final = -32601
_FAILED: Final = -32000


class McpDesk:
    """Answers the messages of MCP clients. Safe to ask from several threads."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._pending: dict[tuple[str, Any], str] = {}
        self._lock = threading.Lock()

    def ask(self, server: str, message: Json) -> dict[str, Json]:
        """What to do with a client's message.

        Args: server: the command or address of the server, its name in the recording.

        Returns: ``{"do": "reply", "message"}``, ``{"do": "forward"}`` or ``{"do": "nothing"}``.
        """
        if not isinstance(message, Mapping) or "method" not in message:
            return {"do": "forward" if self._door.tape is None else "nothing"}
        method, id_ = message.get("method"), message.get("id")
        params = message.get("params")
        params = params if isinstance(params, Mapping) else {}
        if method == "tools/call":
            return self._call(server, id_, str(params.get("name", "")), params.get("arguments") or {})
        if method in _RECORDED:
            return self._listed(server, id_, str(method), params)
        if self._door.tape is None:
            return {"do": "forward"}
        if id_ is None:
            return {"do": "nothing"}
        if method in _EMPTY:
            return _reply(id_, _EMPTY[str(method)])
        return _failure(id_, _NO_METHOD, f"retrospan: a replay answers no {method!r}")

    def _call(self, server: str, id_: Json, name: str, arguments: Json) -> dict[str, Json]:
        found = self._door.tool(name, arguments, None)
        if found["do"] == "stop":
            return _failure(id_, _FAILED, str(found["message"]))
        if found["do"] == "run":
            return self._forward(server, id_, found["call_id"])
        value, error = found["value"], found["error"]
        if error is None and isinstance(value, Mapping) and isinstance(value.get("content"), list):
            return _reply(id_, value)
        shown = error["message"] if error else found["text"] if found["text"] is not None else to_text(value)
        return _reply(id_, {"content": [{"type": "text", "text": shown}], "isError": error is not None})

    def _listed(self, server: str, id_: Json, method: str, params: Mapping[str, Any]) -> dict[str, Json]:
        name, tape = _RECORDED[method], self._door.tape
        if tape is None or name in tape.tools:
            cursor = {"cursor": params["cursor"]} if params.get("cursor") else {}
            found = self._door.tool(name, {"server": server, **cursor}, None)
            if found["do"] == "run":
                return self._forward(server, id_, found["call_id"])
            if found["do"] == "stop":
                return _failure(id_, _FAILED, str(found["message"]))
            return _reply(id_, found["value"])
        if method == "initialize":
            info = {"name": "retrospan", "version": "0"}
            version = params.get("protocolVersion", "2025-06-18")
            return _reply(id_, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
        tools = [
            {"name": t.name, "description": t.description or "", "inputSchema": t.parameters or {"type": "object"}}
            for t in tape.definitions
        ]
        return _reply(id_, {"tools": tools})

    def _forward(self, server: str, id_: Json, call_id: Json) -> dict[str, Json]:
        if isinstance(call_id, str) and isinstance(id_, str | int):
            with self._lock:
                self._pending[server, id_] = call_id
        return {"do": "forward"}

    def told(self, server: str, message: Json) -> None:
        """A real server's message: an answer to what was passed on is recorded."""
        if not isinstance(message, Mapping) or "method" in message or not isinstance(message.get("id"), str | int):
            return
        with self._lock:
            call_id = self._pending.pop((server, message["id"]), None)
        if call_id is None:
            return
        error = message.get("error")
        info = ErrorInfo("McpError", str(error.get("message", ""))) if isinstance(error, Mapping) else None
        self._door.tool_ran(call_id, message.get("result"), info)


def _reply(id_: Json, result: Json) -> dict[str, Json]:
    return {"do": "reply", "message": {"jsonrpc": "2.0", "id": id_, "result": result}}


def _failure(id_: Json, code: int, text: str) -> dict[str, Json]:
    return {"do": "reply", "message": {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": text}}}
