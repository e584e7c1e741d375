"""Asks the endpoint what to do with a tool call."""

from __future__ import annotations

import builtins
import http.client
import json
import math
from typing import Any
from urllib.parse import urlsplit


class NoRecordedAnswerError(Exception):
    """The recording holds no answer to this tool call, and the replay is strict."""


class RecordedToolError(Exception):
    """A tool had failed when it was recorded, with a class that is not there by its name."""


class Call:
    """What came back: the recorded answer, or the leave to run."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.must_run = found["do"] == "run"
        self.call_id = found.get("call_id")
        self.value = found.get("value")
        self.text = found.get("text")
        """What the model was shown; None where it was not shown."""
        self.error = found.get("error")

    def shown(self) -> Any:
        """What to hand on to the model: the text it was shown, else the value. Raises the recorded error."""
        if self.text is not None:
            return self.text
        return self.returned()

    def returned(self) -> Any:
        """The tool's own result. Raises the recorded error."""
        if self.error:
            raise error_of(self.error["type"], self.error["message"])
        return self.value


def error_of(name: str, message: str) -> Exception:
    """The recorded error: of its own class where that is a builtin, else of ours with the class named."""
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(message)
        except TypeError:
            pass  # a class that wants other arguments
    return RecordedToolError(f"{name}: {message}")


class Door:
    """The way to the endpoint; each question has a connection of its own, so any thread may ask."""

    def __init__(self, url: str, port: int) -> None:
        self.url = url
        self._port = port
        self._path = urlsplit(url).path

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request("POST", self._path + path, json.dumps(plain(body)), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            found = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status != 200 or not isinstance(found, dict):
            raise RuntimeError(f"retrospan: the endpoint refused a question of an adapter: {found}")
        return found

    def hello(self, framework: str) -> None:
        """An adapter is in place."""
        self._post("/adapter/hello", {"framework": framework})

    def mcp(self, server: str, message: Any) -> dict[str, Any]:
        """What to do with a message of an MCP client."""
        return self._post("/adapter/mcp", {"server": server, "message": message})

    def mcp_told(self, server: str, message: Any) -> None:
        """What a real MCP server said."""
        self._post("/adapter/mcp-told", {"server": server, "message": message})

    def ask(self, name: str, arguments: Any, tool_call_id: Any = None) -> Call:
        """What to do with a tool call.

        Raises: NoRecordedAnswerError.
        """
        found = self._post("/adapter/tool", {"name": name, "arguments": arguments, "tool_call_id": tool_call_id})
        if found["do"] == "stop":
            raise NoRecordedAnswerError(found["message"])
        return Call(found)

    def ran(self, call: Call, value: Any = None, error: BaseException | None = None) -> None:
        """A call that had to run has ended."""
        told = None if error is None else {"type": type(error).__name__, "message": str(error)}
        if call.call_id is not None:
            self._post("/adapter/ran", {"call_id": call.call_id, "value": value, "error": told})


def plain(value: Any) -> Any:
    """The value as JSON: models and dataclasses by their fields, anything else by its text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    for name in ("model_dump", "_asdict"):
        dump = getattr(value, name, None)
        if callable(dump) and not isinstance(value, type):
            return plain(dump())
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is not None and not isinstance(value, type):
        return {name: plain(getattr(value, name)) for name in fields}
    return str(value)
