"""What both official SDKs have in common: loading them, one client per event loop, and their errors as ours.

The key is read from the environment when a client is made. It is kept by the SDK's client alone, and cut out of every
error text, since a server may repeat it.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

from ..errors import (
    ModelAnswerError,
    ModelError,
    ModelRateLimitError,
    ModelRefusedError,
    ModelRequestError,
    ModelSetupError,
    ModelTimeoutError,
    ModelTransportError,
)

TIMEOUT_S = 600.0
MAX_RETRIES = 2
"""Both as the SDKs have them."""

_MAX_DETAIL = 2000
"""Characters of a server's error text; some answer with a whole page."""

_REFUSALS = ("content_filter", "content_policy", "policy_violation", "bio_policy", "refusal")
_RATE_LIMITS = ("rate_limit", "insufficient_quota", "overloaded")


class Sdk:
    """An SDK that is imported when first used, with one client per event loop.

    A client's connections belong to the loop that opened them, while a model object may live through many runs.

    Args:
        package: the name to import, and of the extra that installs it.
        client_class: the name of the asynchronous client in the package.
        provider: named in errors.
        api_key_env: the environment variable that holds the key; None for servers that want none.
        options: further arguments for the client.
    """

    def __init__(
        self, package: str, client_class: str, *, provider: str, api_key_env: str | None, options: Mapping[str, Any]
    ) -> None:
        self._package = package
        self._client_class = client_class
        self._provider = provider
        self._api_key_env = api_key_env
        self._options = dict(options)
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Any, AsyncGenerator[None, None]]]
        self._clients = WeakKeyDictionary()

    def load(self) -> Any:
        """The SDK's module. Untyped, since the package need not be installed where this code is checked.

        Raises:
            ModelSetupError: it is not installed.
        """
        try:
            return import_module(self._package)
        except ImportError as fault:
            raise ModelSetupError(
                f"the package {self._package!r} cannot be imported ({fault});"
                f" install it with: pip install 'retrospan[{self._package}]', or in a checkout"
                f" pip install '.[{self._package}]'",
                provider=self._provider,
                type="not_installed",
            ) from fault

    async def client(self) -> Any:
        """The client of the running event loop; its connections are closed when the loop shuts down.

        Raises:
            ModelSetupError: the package or the key is missing.
        """
        loop = asyncio.get_running_loop()
        held = self._clients.get(loop)
        if held is None:
            make: Callable[..., Any] = getattr(self.load(), self._client_class)
            client = make(api_key=self._key(), **self._options)
            keeper = self._kept_open(loop, client)
            await anext(keeper)  # Comes back without a pause, so no other task makes a second client meanwhile.
            held = self._clients[loop] = client, keeper
        return held[0]

    async def aclose(self) -> None:
        """Close the connections of the running event loop now."""
        held = self._clients.get(asyncio.get_running_loop())
        if held is not None:
            await held[1].aclose()

    async def _kept_open(self, loop: asyncio.AbstractEventLoop, client: Any) -> AsyncGenerator[None, None]:
        """Closes the client when it is closed itself: event loops close all their generators when they shut down."""
        try:
            yield
        finally:
            self._clients.pop(loop, None)
            await client.close()

    def _key(self) -> str:
        if self._api_key_env is None:
            return "none"
        key = os.environ.get(self._api_key_env, "")
        if not key:
            raise ModelSetupError(
                f"the environment variable {self._api_key_env} holds no key; set it before the run",
                provider=self._provider,
                type="no_key",
            )
        return key

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise what the SDK raises inside as a ModelError; those keep the key out. Errors of other kinds pass."""
        sdk = self.load()
        try:
            yield
        except (sdk.APIError, json.JSONDecodeError) as error:
            kind, detail, facts = self._translated(sdk, error)
            key = self._held_key()
            if not key or key not in f"{detail} {error} {facts['type']}":
                raise kind(detail, provider=self._provider, **facts) from error
            # The server repeats the key. A cause is printed and logged with the error, so it has to go as well.
            facts["type"] = (facts["type"] or "").replace(key, "") or None
            raise kind(detail.replace(key, "[key]"), provider=self._provider, **facts) from None
        except ModelError as error:  # an answer or an event that was an error, as its reader words it
            key = self._held_key()
            if not key or key not in str(error):
                raise
            raise type(error)(str(error).replace(key, "[key]")) from None

    def _held_key(self) -> str | None:
        held = self._clients.get(asyncio.get_running_loop())
        return held[0].api_key if held and self._api_key_env is not None else None

    def _translated(self, sdk: Any, error: Exception) -> tuple[type[ModelError], str, dict[str, Any]]:
        """Class, text, status and type of our error."""
        if isinstance(error, sdk.APITimeoutError):
            return ModelTimeoutError, f"no answer within {self._options['timeout']:g} s", {"type": "timeout"}
        if isinstance(error, sdk.APIConnectionError):
            cause = error.__cause__
            detail = str(error) if cause is None else f"{error} ({type(cause).__name__}: {cause})"
            return ModelTransportError, detail, {"type": "connection"}
        if isinstance(error, json.JSONDecodeError | sdk.APIResponseValidationError):
            return ModelAnswerError, f"the answer is not JSON: {error}", {"type": "malformed"}
        status = getattr(error, "status_code", None)
        # An error inside a stream comes under the status 200 of the stream itself.
        status = status if status and status >= 400 else None
        word, text = error_facts(getattr(error, "body", None))
        return error_class(status, word), (text or str(error))[:_MAX_DETAIL], {"status": status, "type": word}


def error_facts(body: Any) -> tuple[str | None, str | None]:
    """The error's own word and its text, from the body of either provider or of a server that imitates one."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(inner, Mapping):
        return None, inner[:_MAX_DETAIL] if isinstance(inner, str) else None
    word = inner.get("code") or inner.get("type")
    detail = inner.get("message")
    return None if word is None else str(word), str(detail)[:_MAX_DETAIL] if detail else None


def error_class(status: int | None, word: str | None) -> type[ModelError]:
    """The class that an HTTP status and the provider's own word stand for."""
    lower = (word or "").lower()
    if any(each in lower for each in _REFUSALS):
        return ModelRefusedError
    if status in (429, 529) or any(each in lower for each in _RATE_LIMITS):
        return ModelRateLimitError
    if status == 408 or "timeout" in lower:
        return ModelTimeoutError
    if (status is not None and status < 500) or lower.startswith("invalid_"):
        return ModelRequestError
    return ModelTransportError


def error_in_body(body: Any, provider: str) -> ModelError:
    """The error that an answer or an event of a stream holds instead of content."""
    word, detail = error_facts(body)
    return error_class(None, word)(detail or "the answer is an error", provider=provider, type=word)
