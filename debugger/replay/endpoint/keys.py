"""The secrets that a request carries beside its body: they pass through, and are cut out of what is written.

A server may repeat a key in its answer, most likely where it refuses it.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote, unquote_plus, urlsplit

_HEADERS: Final = frozenset(("authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key"))
_PARAMETERS: Final = frozenset(("key", "api_key", "api-key", "apikey", "access_token", "token"))
_SHORTEST: Final = 6
_PLAIN_WORD: Final = re.compile(r"[a-z_-]{1,11}")
"""Stands for a key where a server wants none (``ollama``, ``not-needed``); texts and trace formats have such words."""


def secrets_of(url: str, headers: Mapping[str, str]) -> frozenset[str]:
    """The secrets of a request, in each form in which they may be repeated.

    Args: url: whole, or a path with its query.
    """
    found = {form for value in (*_of_headers(headers), *_of_url(url)) for form in (value, json.dumps(value)[1:-1])}
    return frozenset(each for each in found if len(each) >= _SHORTEST and not _PLAIN_WORD.fullmatch(each))


def _of_headers(headers: Mapping[str, str]) -> Iterator[str]:
    for name, value in headers.items():
        if name.lower() not in _HEADERS:
            continue
        scheme, _, token = value.strip().partition(" ")
        if name.lower().endswith("authorization") and token:
            yield token.strip()
            if scheme.lower() == "basic":
                yield from _of_basic(token.strip())
        else:
            yield value.strip()


def _of_basic(token: str) -> Iterator[str]:
    try:
        login = b64decode(token, validate=True).decode("utf-8")
    except ValueError:
        return  # no login, and as it stands it is a secret already
    yield from (login, login.partition(":")[2])


def _of_url(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
    except ValueError:  # no address that anything could be asked at
        return
    login, _, _ = parts.netloc.rpartition("@")
    password = login.partition(":")[2]
    yield from (password, unquote(password))
    for pair in parts.query.split("&"):
        name, _, value = pair.partition("=")
        if unquote_plus(name).lower() in _PARAMETERS:
            yield from (value, unquote_plus(value))
