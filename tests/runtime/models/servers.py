"""Servers on the loopback that speak the three protocols, for the adapters' tests.

A server answers from a script: each ``Says`` is written in the protocol of the path it was asked at, whole or as
server-sent events. ``Raw`` is sent as it stands, ``Hang`` never answers, ``CutOff`` ends a stream in its middle.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-test-0123456789-never-to-be-seen"


@dataclass(frozen=True)
class Says:
    """One answer, whatever the protocol."""

    text: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()
    """Id, name and arguments as text."""
    reasoning: str = ""
    refusal: str = ""
    cut: bool = False
    """Cut at the token limit."""


@dataclass(frozen=True)
class Raw:
    status: int
    body: str
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Hang:
    """Never answers; with ``events``, after the first ones of a stream."""


@dataclass(frozen=True)
class CutOff:
    """A stream that ends after so many events, without an error."""

    says: Says
    events: int


@dataclass
class Seen:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Server:
    def __init__(self, script: list[Any]) -> None:
        self.script = script
        self.seen: list[Seen] = []
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def next(self, seen: Seen) -> Any:
        with self._lock:
            self.seen.append(seen)
            if len(self.seen) > len(self.script):
                return Raw(400, json.dumps({"error": {"message": "the script has ended", "type": "script"}}))
            return self.script[len(self.seen) - 1]

    def stop(self) -> None:
        if not self.closing.is_set():
            self.closing.set()
            self._http.shutdown()
            self._http.server_close()
            self._thread.join()


@contextmanager
def serving(*script: Any) -> Iterator[Server]:
    server = Server(list(script))
    try:
        yield server
    finally:
        server.stop()


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {key.lower(): value for key, value in self.headers.items()}
            answer = server.next(Seen(self.path, headers, body))
            if isinstance(answer, Hang):
                server.closing.wait()
                self.close_connection = True
            elif isinstance(answer, Raw):
                self._send(answer.status, answer.content_type, answer.body, answer.headers)
            elif body.get("stream"):
                self._send(200, "text/event-stream", _events(self.path, answer))
            else:
                self._send(200, "application/json", json.dumps(whole(self.path, answer)))

        def _send(self, status: int, content_type: str, body: str, headers: dict[str, str] | None = None) -> None:
            data = body.encode()
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(data)))
            for key, value in (headers or {}).items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Tests print nothing."""

    return Handler


def _events(path: str, answer: Says | CutOff) -> str:
    says = answer.says if isinstance(answer, CutOff) else answer
    make = {"/chat/completions": chat_events, "/responses": response_events, "/v1/messages": message_events}[path]
    events = make(says)
    if isinstance(answer, CutOff):
        events = events[: answer.events]
    lines = []
    for event in events:
        if path != "/chat/completions":
            lines.append(f"event: {event['type']}\n")
        lines.append(f"data: {json.dumps(event)}\n\n")
    if path == "/chat/completions" and not isinstance(answer, CutOff):
        lines.append("data: [DONE]\n\n")
    return "".join(lines)


def whole(path: str, says: Says) -> dict[str, Any]:
    return {"/chat/completions": chat, "/responses": response, "/v1/messages": message}[path](says)


def pieces(text: str) -> list[str]:
    return [text[i : i + 5] for i in range(0, len(text), 5)]


# Chat completions ------------------------------------------------------------------------------------------

CHAT_USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 7},
}


def _chat_finish(says: Says) -> str:
    return "length" if says.cut else "tool_calls" if says.calls else "stop"


def chat(says: Says) -> dict[str, Any]:
    made: dict[str, Any] = {"role": "assistant", "content": says.text or None, "refusal": says.refusal or None}
    if says.reasoning:
        made["reasoning_content"] = says.reasoning
    if says.calls:
        made["tool_calls"] = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id_, name, arguments in says.calls
        ]
    choice = {"index": 0, "message": made, "finish_reason": _chat_finish(says), "logprobs": None}
    return _completion("chat.completion", [choice]) | {"usage": CHAT_USAGE}


def _completion(kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": "m-2026", "choices": choices}


def chat_events(says: Says) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in pieces(says.reasoning)]
    deltas += [{"content": piece} for piece in pieces(says.text)]
    deltas += [{"refusal": piece} for piece in pieces(says.refusal)]
    for index, (id_, name, arguments) in enumerate(says.calls):
        first = {"index": index, "id": id_, "type": "function", "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [first]})
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": p}}]} for p in pieces(arguments)]
    out = [_chunk([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    out.append(_chunk([{"index": 0, "delta": {}, "finish_reason": _chat_finish(says)}]))
    return [*out, _chunk([]) | {"usage": CHAT_USAGE}]


def _chunk(choices: list[dict[str, Any]]) -> dict[str, Any]:
    return _completion("chat.completion.chunk", choices)


# Responses -------------------------------------------------------------------------------------------------


def response(says: Says) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if says.reasoning:
        summary = [{"type": "summary_text", "text": says.reasoning}]
        output.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "c2VjcmV0"})
    if says.text or says.refusal:
        content: dict[str, Any] = (
            {"type": "refusal", "refusal": says.refusal}
            if says.refusal
            else {"type": "output_text", "text": says.text, "annotations": []}
        )
        output.append(
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [content]}
        )
    for id_, name, arguments in says.calls:
        output.append(
            {"type": "function_call", "id": f"fc_{id_}", "call_id": id_, "name": name, "arguments": arguments}
        )
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m-2026",
        "status": "incomplete" if says.cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if says.cut else None,
        "error": None,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 7},
            "total_tokens": 120,
        },
    }


def response_events(says: Says) -> list[dict[str, Any]]:
    last = response(says)
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": last | {"output": [], "status": "in_progress", "usage": None}}
    ]
    for at, item in enumerate(last["output"]):
        where = {"output_index": at, "item_id": item["id"]}
        empty = item | {"arguments": ""} if item["type"] == "function_call" else item
        events.append({"type": "response.output_item.added", "output_index": at, "item": empty})
        if item["type"] == "reasoning":
            events += [
                {"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": piece, **where}
                for piece in pieces(says.reasoning)
            ]
        elif item["type"] == "function_call":
            events += [
                {"type": "response.function_call_arguments.delta", "delta": piece, **where}
                for piece in pieces(item["arguments"])
            ]
        else:
            kind, text = ("refusal", says.refusal) if says.refusal else ("output_text", says.text)
            events += [
                {"type": f"response.{kind}.delta", "content_index": 0, "delta": piece, "logprobs": [], **where}
                for piece in pieces(text)
            ]
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    events.append({"type": f"response.{last['status']}", "response": last})
    return [event | {"sequence_number": number} for number, event in enumerate(events)]


# Messages --------------------------------------------------------------------------------------------------

MESSAGE_USAGE = {
    "input_tokens": 50,
    "cache_read_input_tokens": 40,
    "cache_creation_input_tokens": 10,
    "output_tokens": 20,
    "output_tokens_details": {"thinking_tokens": 7},
}


def message(says: Says) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if says.reasoning:
        content.append({"type": "thinking", "thinking": says.reasoning, "signature": "c2lnbmVk"})
    if says.text:
        content.append({"type": "text", "text": says.text})
    for id_, name, arguments in says.calls:
        content.append({"type": "tool_use", "id": id_, "name": name, "input": json.loads(arguments)})
    stop = "refusal" if says.refusal else "max_tokens" if says.cut else "tool_use" if says.calls else "end_turn"
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m-2026",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "stop_details": {"type": "refusal", "explanation": says.refusal} if says.refusal else None,
        "usage": MESSAGE_USAGE,
    }


def message_events(says: Says) -> list[dict[str, Any]]:
    last = message(says)
    start = last | {"content": [], "stop_reason": None, "usage": MESSAGE_USAGE | {"output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(last["content"]):
        match block["type"]:
            case "thinking":
                empty = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            case "text":
                empty = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
            case _:
                empty = block | {"input": {}}
                text = json.dumps(block["input"])
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces(text))]
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    ended = {key: last[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
    events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 20}})
    return [*events, {"type": "message_stop"}]
