"""Who may send: the token, and what a web page must not be able to do with a receiver on the reader's own machine.

A page of any site can make a browser send requests to loopback addresses. A foreign ``Origin`` gives it away, and where
its site's name was made to mean 127.0.0.1 (DNS rebinding), the ``Host`` does.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from ..errors import NotLoopbackError
from .otlp import Code, Refused

TOKEN_VARIABLE: Final = "RETROSPAN_TOKEN"
_LEAST_TOKEN: Final = 16
_LOCAL_NAMES: Final = frozenset(("localhost", "host.docker.internal", "host.containers.internal"))
"""Names that nobody can register: how this machine is called by itself and by the containers on it."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address or name."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Rules for all requests to one receiver."""

    token: str = field(default="", repr=False)
    """What senders must know; empty where everybody on this machine may send."""
    origins: frozenset[str] = frozenset()
    """Origins of web pages that may send, beside those served from this machine."""

    @classmethod
    def of(cls, host: str, environment: Mapping[str, str], origins: frozenset[str] = frozenset()) -> Guard:
        """The rules for a receiver on an address. Raises NotLoopbackError."""
        token = environment.get(TOKEN_VARIABLE, "")
        if not is_loopback(host):
            if not token:
                raise NotLoopbackError(host, f"{TOKEN_VARIABLE} is not set")
            if len(token) < _LEAST_TOKEN:
                raise NotLoopbackError(host, f"the secret in {TOKEN_VARIABLE} is too short")
        return cls(token=token, origins=origins)

    def check_host(self, host: str | None) -> None:
        """Refuse names that could be anybody's. A token makes this needless: a page does not know it."""
        if host is None or self.token:
            return
        name = urlsplit(f"//{host}").hostname or ""
        if name in _LOCAL_NAMES or is_loopback(name) or _is_address(name):
            return
        raise Refused(403, Code.PERMISSION_DENIED, "this receiver is not asked by that host name; use 127.0.0.1")

    def check_origin(self, origin: str | None) -> None:
        """Refuse web pages that are neither served from this machine nor named by the user."""
        if origin is None or origin in self.origins:
            return
        parts = urlsplit(origin)
        if parts.scheme in ("http", "https") and is_loopback(parts.hostname or ""):
            return
        raise Refused(403, Code.PERMISSION_DENIED, "pages of this origin may not send here; see --allow-origin")

    def check_token(self, authorization: str | None) -> None:
        """Refuse who does not know the token."""
        if not self.token:
            return
        scheme, _, said = (authorization or "").partition(" ")
        good = hmac.compare_digest(said.strip().encode("utf-8", "surrogateescape"), self.token.encode())
        if scheme.lower() != "bearer" or not good:
            raise Refused(
                401,
                Code.UNAUTHENTICATED,
                "the header `Authorization: Bearer SECRET` is missing or wrong",
                headers=(("www-authenticate", "Bearer"),),
            )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
