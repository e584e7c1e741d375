"""The endpoint over HTTP, on the loopback only, at a random port and below a secret path.

The path's first part is a token of this run, so that no other program of the machine can feed on the recording: what
does not begin with it is told nothing. A request may come in any size and speed without holding up others.
"""

from __future__ import annotations

import hmac
import json
import logging
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, unquote

from runtime.messages import ErrorInfo, Usage

from ..model import Mode
from . import chat, completions, messages, responses
from .bodies import Bodies
from .door import Door, Turn
from .keys import secrets_of
from .mcp import McpDesk
from .reading import UnreadableRequestError
from .speaking import Answer, Fault, Speaker
from .upstream import Listening, Reading, Real, Upstream

logger = logging.getLogger(__name__)

IDLE_S: Final = 300.0
"""How long a connection may be silent."""
VARIABLE: Final = "/-/"
"""Before the name of an environment variable whose endpoint is meant."""

_SPEAKERS: Final[dict[str, Speaker]] = {
    "/chat/completions": chat.SPEAKER,
    "/completions": completions.SPEAKER,
    "/responses": responses.SPEAKER,
    "/messages": messages.SPEAKER,
}
_UNKNOWN_PATH: Final = "retrospan_unknown_path"
COUNT_TOKENS: Final = "/messages/count_tokens"
_WHY: Final = {
    "/embeddings": "traces hold no vectors; lead the program's embeddings elsewhere, or take --mode live",
    COUNT_TOKENS: "it made no such request, or tells no tokens of it",
}
"""More about paths that programs are likely to ask for."""

Extra = Callable[[Any], dict[str, Any]]
"""A route for adapters: a JSON value to a JSON object."""


class Endpoint:
    """The running server. Use as a context manager.

    Args:
        door: what answers.
        upstream: where requests go that the door sends on; None where it never does.
        mode: what becomes of paths that nothing here speaks: refused in ``strict``.
        extras: further routes below the token, by path.
        desk: what answers MCP clients at ``/mcp``.
    """

    def __init__(
        self,
        door: Door,
        *,
        upstream: Upstream | None = None,
        mode: Mode = "strict",
        extras: Mapping[str, Extra] | None = None,
        desk: McpDesk | None = None,
    ) -> None:
        self.door = door
        self.upstream = upstream
        self.mode = mode
        self.extras = dict(extras or {})
        self.desk = desk
        self.token = secrets.token_urlsafe(24)
        self._http = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Endpoint:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """The address with the token, without a version."""
        return f"http://127.0.0.1:{self.port}/{self.token}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    block_on_close = False

    def handle_error(self, *_: Any) -> None:
        """A client that breaks off is no news; everything else is a fault of ours."""
        if not isinstance(sys.exc_info()[1], OSError):
            logger.exception("the endpoint failed at a request")


def _handler(endpoint: Endpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        pass

    Handler.endpoint = endpoint
    return Handler


class _Handler(Bodies):
    protocol_version = "HTTP/1.1"
    server_version = "retrospan"
    sys_version = ""
    timeout = IDLE_S
    # Head and body in one packet, and none held back: two small ones wait 40 ms for each other.
    wbufsize = -1
    disable_nagle_algorithm = True
    endpoint: Endpoint

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is written: standard error belongs to the program."""

    def do_GET(self) -> None:
        """``/models``; everything else is passed on or refused."""
        path = self._path()
        if path is not None:
            self._get(path)

    def do_HEAD(self) -> None:
        """That the endpoint is there, which some programs look for before they ask."""
        if self._path() is not None:
            self._send(200, "application/json", b"")

    def do_OPTIONS(self) -> None:
        """What may be done. No other origin is let in: a page in a browser has nothing to do here."""
        if self._path() is not None:
            self._send(200, "application/json", b"", {"Allow": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"})

    def do_DELETE(self) -> None:
        """Passed on or refused."""
        path = self._path()
        if path is not None:
            self._unknown(path, None)

    def do_PUT(self) -> None:
        """Passed on or refused."""
        path = self._path()
        body = None if path is None else self._body()
        if path is not None and body is not None:
            self._unknown(path, body)

    do_PATCH = do_PUT

    def do_POST(self) -> None:
        """A model request, or one of an adapter."""
        path = self._path()
        if path is None:
            return
        body = self._body()
        if body is None:
            return
        bare = path.partition("?")[0]
        if bare in self.endpoint.extras:
            self._extra(self.endpoint.extras[bare], body)
            return
        if bare == "/mcp" and self.endpoint.desk is not None:
            self._mcp(self.endpoint.desk, path, body)
            return
        if bare.endswith(COUNT_TOKENS) and self._count_tokens(body):
            return
        speaker = next((each for end, each in _SPEAKERS.items() if bare.endswith(end)), None)
        if speaker is None:
            self._unknown(path, body)
            return
        try:
            given = json.loads(body)
            if not isinstance(given, dict):
                raise UnreadableRequestError("the body is no JSON object")
            found = self.endpoint.door.ask(speaker, given)
        except (ValueError, RecursionError, UnreadableRequestError) as fault:
            why = str(fault) if isinstance(fault, UnreadableRequestError) else "the body is not JSON"
            self._fault(speaker, Fault(status=400, type="invalid_request_error", message=f"retrospan: {why}"))
            return
        if isinstance(found, Turn):
            self._pass_on(speaker, found, path, body)
        elif isinstance(found, Fault):
            self._fault(speaker, found)
        else:
            self._answer(speaker, found, given)

    # Reading -----------------------------------------------------------------------------------------------

    def _path(self) -> str | None:
        """The path below the token; None, and the answer given, where the token is not ours."""
        _, token, *rest = self.path.split("/", 2)
        if not hmac.compare_digest(token.encode(), self.endpoint.token.encode()) or not rest:
            self.close_connection = True
            self._send(404, "application/json", b"{}")
            return None
        if self.endpoint.upstream is not None:
            self._hide_secrets(self.endpoint.upstream, "/" + rest[0])
        return "/" + rest[0]

    def _hide_secrets(self, upstream: Upstream, path: str) -> None:
        """What is passed on with the request is kept out of what is written of it."""
        server = parse_qs(path.partition("?")[2]).get("server", [""])[0]
        name = self._whose(path)[0]
        urls = (path, server, upstream.bases.get(name, ""))
        headers = dict(self.headers.items())
        self.endpoint.door.trail.hide(frozenset().union(*(secrets_of(url, headers) for url in urls)))

    # Answers of our own ------------------------------------------------------------------------------------

    def _answer(self, speaker: Speaker, answer: Answer, body: Mapping[str, Any]) -> None:
        if not body.get("stream"):
            self._send(200, "application/json", _bytes(speaker.whole(answer)))
            return
        lines = []
        for name, data in speaker.events(answer, body):
            lines.append((f"event: {name}\n" if name else "").encode() + b"data: " + _bytes(data) + b"\n\n")
        self._send(200, "text/event-stream", b"".join(lines) + speaker.last_line.encode())

    def _fault(self, speaker: Speaker, fault: Fault) -> None:
        # Where each attempt was recorded for itself, the SDK shall go on at once as it did, else not at all.
        retry = {"retry-after-ms": "1"} if fault.may_retry else {"x-should-retry": "false"}
        if fault.retry_after is not None:
            retry["retry-after"] = fault.retry_after
        self._send(fault.status, "application/json", _bytes(speaker.fault(fault)), retry)

    def _extra(self, route: Extra, body: bytes) -> None:
        try:
            found = route(json.loads(body))
        except (AttributeError, ValueError, KeyError, TypeError, RecursionError) as fault:
            self._send(400, "application/json", _bytes({"error": f"{type(fault).__name__}: {fault}"}))
        else:
            self._send(200, "application/json", _bytes(found))

    def _get(self, path: str) -> None:
        bare = path.partition("?")[0]
        _, found, id_ = bare.rpartition("/models")
        tape = self.endpoint.door.tape
        if not found or tape is None or (self.endpoint.mode == "live" and self.endpoint.upstream):
            self._unknown(path, None)
            return
        models = [
            {"id": m, "object": "model", "created": 0, "owned_by": tape.providers.get(m, "")} for m in tape.models
        ]
        if not id_:
            ends = {"first_id": models[0]["id"], "last_id": models[-1]["id"]} if models else {}
            listed = {"object": "list", "data": models, "has_more": False, **ends}
            self._send(200, "application/json", _bytes(listed))
            return
        one = next((m for m in models if m["id"] == unquote(id_.strip("/"))), None)
        if one is not None:
            self._send(200, "application/json", _bytes(one))
        else:
            self._fault(
                chat.SPEAKER, Fault(status=404, type="not_found_error", message="the recording has no such model")
            )

    def _unknown(self, path: str, body: bytes | None) -> None:
        bare = path.partition("?")[0]
        if bare == "/mcp" and self.endpoint.desk is not None:
            # A client that listens for more, or takes its leave: nothing of it is recorded.
            self._mcp_beside(path)
            return
        if bare not in self.endpoint.door.unread:
            self.endpoint.door.unread.append(bare)
        if self.endpoint.upstream is None or self.endpoint.mode == "strict":
            why = next((f": {text}" for end, text in _WHY.items() if bare.endswith(end)), "")
            message = f"retrospan: no recording can answer {self.command} {bare}{why}"
            self._fault(chat.SPEAKER, Fault(status=404, type=_UNKNOWN_PATH, message=message))
            return
        real = self._real(path, body)
        if isinstance(real, OSError):
            self._fault(chat.SPEAKER, _unreachable(real))
        else:
            with real.body:
                self._stream(real, real.blocks())

    def _mcp_beside(self, path: str) -> None:
        server = parse_qs(path.partition("?")[2]).get("server", [""])[0]
        if self.endpoint.upstream is None or self.endpoint.mode == "strict":
            self._send(200 if self.command == "DELETE" else 405, "application/json", b"")
            return
        real = self.endpoint.upstream.reach(server, self.command, dict(self.headers.items()), None)
        if isinstance(real, OSError):
            self._fault(chat.SPEAKER, _unreachable(real))
        else:
            with real.body:
                self._stream(real, real.blocks())

    def _mcp(self, desk: McpDesk, path: str, body: bytes) -> None:
        """One message of an MCP client over HTTP, for the server that the query names."""
        server = parse_qs(path.partition("?")[2]).get("server", [""])[0]
        try:
            found = desk.ask(server, json.loads(body))
        except (ValueError, RecursionError):
            self._send(400, "application/json", b"{}")
            return
        if found["do"] == "reply":
            self._send(200, "application/json", _bytes(found["message"]))
        elif found["do"] == "nothing":
            self._send(202, "application/json", b"")
        elif self.endpoint.upstream is None:
            self._send(502, "application/json", b"{}")
        else:
            real = self.endpoint.upstream.reach(server, self.command, dict(self.headers.items()), body)
            if isinstance(real, OSError):
                self._fault(chat.SPEAKER, _unreachable(real))
                return
            listening = Listening(lambda message: desk.told(server, message), real)
            with real.body:
                self._stream(real, listening.pass_through(real.blocks()))

    def _count_tokens(self, body: bytes) -> bool:
        """Answer how many tokens a request has, where the recording made that request; whether it did."""
        try:
            given = json.loads(body)
            count = self.endpoint.door.tokens_of(messages.SPEAKER, given) if isinstance(given, dict) else None
        except (ValueError, RecursionError, UnreadableRequestError):
            return False
        if count is not None:
            self._send(200, "application/json", _bytes({"input_tokens": count}))
        return count is not None

    # Answers of the real endpoint --------------------------------------------------------------------------

    def _pass_on(self, speaker: Speaker, turn: Turn, path: str, body: bytes) -> None:
        door = self.endpoint.door
        real = self._real(path, body)
        if isinstance(real, OSError):
            fault = _unreachable(real)
            door.turned_out(turn, None, Usage(), ErrorInfo("connection", fault.message))
            self._fault(speaker, fault)
            return
        reading = Reading(speaker.wire, real)

        def read() -> Iterator[bytes]:
            for block in real.blocks():
                reading.feed(block)
                yield block

        whole = False
        try:
            with real.body:
                self._stream(real, read())
            whole = True
        finally:
            result = reading.result() if whole else (None, Usage(), None)
            door.turned_out(turn, *result, response_id=reading.response_id)

    def _real(self, path: str, body: bytes | None) -> Real | OSError:
        upstream = self.endpoint.upstream
        assert upstream is not None, "only a door without a way out is made without it"
        name, path = self._whose(path)
        if name not in upstream.bases:
            return OSError(f"no address is known for {name}")
        try:
            return upstream.ask(name, path, self.command, dict(self.headers.items()), body)
        except OSError as fault:
            return fault

    def _whose(self, path: str) -> tuple[str, str]:
        """The endpoint that is meant, and the path below its base."""
        if path.startswith(VARIABLE):
            name, slash, rest = path.removeprefix(VARIABLE).partition("/")
            return name, slash + rest
        bare = path.removeprefix("/v1")
        if bare.partition("?")[0].startswith("/messages") or "anthropic-version" in self.headers:
            return "anthropic", f"/v1{bare}"
        return "openai", bare

    def _stream(self, real: Real, blocks: Iterator[bytes]) -> None:
        """The real answer in chunks, as it comes."""
        self.send_response(real.status)
        for key, value in real.headers:
            if key.lower() not in ("date", "server"):
                self.send_header(key, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for block in blocks:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(block), block))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except BaseException:
            # Half an answer must not look whole.
            self.close_connection = True
            raise


def _unreachable(fault: OSError) -> Fault:
    why = getattr(fault, "reason", None) or fault
    return Fault(status=502, type="connection", message=f"retrospan: the real endpoint cannot be reached ({why})")


def _bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()
