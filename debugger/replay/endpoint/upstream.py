"""The real endpoint behind ours: requests are passed on as they came, answers as they come.

The program's own headers go along, its key among them; nothing of them is kept or written.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message as Headers
from typing import IO, Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from runtime.errors import ModelError, ModelRefusedError
from runtime.messages import ErrorInfo, Message, OtherPart, Usage
from runtime.models.wire import Wire, error_facts

from ...errors import ReplayError
from .faults import error_of_answer
from .speaking import REFUSAL

TIMEOUT_S: Final = 600.0
_BLOCK: Final = 1 << 16
_MOST_KEPT: Final = 256 << 20
"""Bytes of an answer that are kept to be read; what is longer passes through unread."""

_DEFAULTS: Final = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
_NAMED_BY: Final = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL"),
}
_OURS: Final = frozenset(
    (
        "host", "connection", "content-length", "content-encoding", "transfer-encoding", "accept-encoding",
        "keep-alive", "te", "upgrade",
    )
)  # fmt: skip
"""Headers that belong to one connection, not to the request; its body is passed on unpacked."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Real:
    """An answer of the real endpoint, before its body is read."""

    status: int
    headers: tuple[tuple[str, str], ...]
    content_type: str
    body: IO[bytes]

    def blocks(self) -> Iterator[bytes]:
        """The body as it comes."""
        read = getattr(self.body, "read1", self.body.read)
        while block := read(_BLOCK):
            yield block


class Upstream:
    """The real endpoints, by the name under which a program reaches them.

    Args: bases: ``openai``, ``anthropic`` or the name of an environment variable -> base URL.
    """

    def __init__(self, bases: Mapping[str, str]) -> None:
        for name, base in bases.items():
            if not _is_address(base):
                # Before the last @ may stand a password.
                raise ReplayError(f"{name}: {base.rpartition('@')[2]!r} is no http or https address")
        self.bases = dict(bases)
        self._opener = urllib.request.build_opener(_NoRedirects)

    @classmethod
    def of_environment(cls, others: Mapping[str, str] | None = None) -> Upstream:
        """The endpoints that the user's environment names, else the providers' own."""
        bases = dict(_DEFAULTS)
        for name, variables in _NAMED_BY.items():
            found = next((os.environ[each] for each in variables if os.environ.get(each)), None)
            bases[name] = found.rstrip("/") if found else bases[name]
        # Anthropic's own SDK adds the version to the base, others expect it there.
        bases["anthropic"] = bases["anthropic"].removesuffix("/v1")
        return cls(bases | dict(others or {}))

    def ask(self, name: str, path: str, method: str, headers: Mapping[str, str], body: bytes | None) -> Real:
        """Pass a request on.

        Args: path: with its query, below the base.

        Raises: OSError: there is no answer.
        """
        return self._open(self.bases[name].rstrip("/") + path, method, headers, body)

    def reach(self, url: str, method: str, headers: Mapping[str, str], body: bytes | None) -> Real | OSError:
        """Pass a request on to any address that the program named."""
        if not _is_address(url):
            return OSError(f"{url.rpartition('@')[2]!r} is no http or https address")
        try:
            return self._open(url, method, headers, body)
        except OSError as fault:
            return fault

    def _open(self, url: str, method: str, headers: Mapping[str, str], body: bytes | None) -> Real:
        url, login = _without_login(url)
        request = urllib.request.Request(url, data=body, method=method)
        for key, value in headers.items():
            if key.lower() not in _OURS:
                request.add_header(key, value)
        if login is not None:
            request.add_header("Authorization", login)  # as SDKs do, which would have sent it in place of their key
        request.add_header("Accept-Encoding", "identity")
        try:
            answer = self._opener.open(request, timeout=TIMEOUT_S)
            status = answer.status
        except urllib.error.HTTPError as fault:
            answer, status = fault, fault.code
        found: Headers = answer.headers
        kept = tuple((k, v) for k, v in found.items() if k.lower() not in _OURS)
        return Real(status, kept, found.get_content_type(), answer)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is no number
        return False


def _without_login(url: str) -> tuple[str, str | None]:
    """An address without ``user:password@``, and the header that says it instead."""
    parts = urlsplit(url)
    login, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, None
    user, _, password = login.partition(":")
    pair = f"{unquote(user)}:{unquote(password)}".encode()
    return urlunsplit(parts._replace(netloc=host)), f"Basic {b64encode(pair).decode()}"


class Listening:
    """Hears the JSON messages of an answer while it passes through: one document, or the data of events."""

    def __init__(self, hear: Callable[[Any], None], real: Real) -> None:
        self._hear = hear
        self._streams = real.content_type == "text/event-stream"
        self._kept = bytearray()

    def pass_through(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """The blocks as they come."""
        for block in blocks:
            self._kept += block
            while self._streams and (end := self._kept.find(b"\n")) >= 0:
                line = bytes(self._kept[:end]).strip()
                del self._kept[: end + 1]
                if line.startswith(b"data:"):
                    self._read(line[5:])
            yield block
        if not self._streams:
            self._read(bytes(self._kept))

    def _read(self, data: bytes) -> None:
        try:
            message = json.loads(data)
        except (ValueError, RecursionError):
            return  # no message of the protocol
        self._hear(message)


class Reading:
    """Reads an answer while it passes through: fed with its blocks, asked for the result at the end."""

    def __init__(self, wire: Wire, real: Real) -> None:
        self._wire = wire
        self._real = real
        self._streams = real.content_type == "text/event-stream"
        self._assembler = wire.assembler()
        self._kept = bytearray()
        self._error: ErrorInfo | None = None
        self._too_long = False
        self.response_id: str | None = None
        """The answer's own id, once it was read."""

    def feed(self, block: bytes) -> None:
        """The next block."""
        if self._too_long or len(self._kept) + len(block) > _MOST_KEPT:
            self._too_long = True
            self._kept.clear()
            return
        self._kept += block
        if self._streams:
            while (end := self._kept.find(b"\n")) >= 0:
                line = bytes(self._kept[:end]).rstrip(b"\r")
                del self._kept[: end + 1]
                self._line(line)

    def _line(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            return
        try:
            event = json.loads(line[5:])
        except ValueError:
            return  # the closing [DONE], or what no SDK could read either
        if not isinstance(event, Mapping) or self._error is not None:
            return
        if event.get("type") == "error" or (event.get("error") and "choices" not in event and "type" not in event):
            word, text = error_facts(event)
            self._error = ErrorInfo(word or "stream_error", text or "the stream held an error")
            return
        try:
            for _ in self._assembler.feed(event):
                pass
        except ModelError as fault:
            self._error = ErrorInfo(fault.type or "stream_error", fault.detail)

    def result(self) -> tuple[Message | None, Usage, ErrorInfo | None]:
        """Message, usage, error."""
        if self._real.status >= 400:
            waits = next((value for key, value in self._real.headers if key.lower() == "retry-after"), None)
            return None, Usage(), error_of_answer(self._real.status, bytes(self._kept), waits)
        if self._error is not None:
            return None, Usage(), self._error
        if self._too_long:
            return None, Usage(), ErrorInfo("too_long", "the answer was too long to be recorded")
        try:
            whole = self._assembler.whole() if self._streams else json.loads(self._kept)
            id_ = whole.get("id")
            self.response_id = id_ if isinstance(id_, str) else None
            reply = self._wire.reply_of(whole)
        except ModelRefusedError as refused:
            parts = (OtherPart(REFUSAL, {"content": refused.detail}),) if refused.type == "refusal" else ()
            word = "refusal" if self._wire.name == "messages" else "stop" if parts else "content_filter"
            return Message("assistant", parts, finish_reason=word), Usage(), None
        except ModelError as fault:
            return None, Usage(), ErrorInfo(fault.type or "malformed", fault.detail)
        except (ValueError, AttributeError, RecursionError):
            return None, Usage(), ErrorInfo("malformed", "the answer is no JSON object")
        return reply.message, reply.usage, None
