"""Anthropic's models, on the official SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from ..messages import Request
from ._anthropic_messages import MessageStream, output_tool, params_of, reply_of
from ._prices import Prices
from ._protocol import Delta, Done, Reply
from ._sdk import MAX_RETRIES, TIMEOUT_S, Sdk
from ._sdk_model import SdkModel


class AnthropicModel(SdkModel):
    """A model of Anthropic, or of a server that speaks its protocol. Needs ``pip install 'retrospan[anthropic]'``.

    Sampling parameters go by their GenAI names; ``max_tokens`` is 4096 unless given. Parameters of other names
    (``thinking``, ``metadata``, …) are sent as they are. Retries and timeouts are the SDK's. The SDK's own
    OpenTelemetry spans are off, since the run records the same calls.

    Args:
        id: the model's name as the server knows it.
        base_url: where the server is; by default Anthropic's, or what ``ANTHROPIC_BASE_URL`` says.
        api_key_env: the environment variable that holds the key, read when the model is first asked. The key is not
            kept by this object and comes into no error, log or trace. None for a server that wants no key.
        timeout_s: for each attempt.
        max_retries: further attempts after connection errors, 408, 409, 429 and 5xx.
        provider: the provider's name in traces and in the content hash.
        prices: to compute what a call cost; without them the cost is not known.
    """

    def __init__(
        self,
        id: str,
        *,
        base_url: str | None = None,
        api_key_env: str | None = "ANTHROPIC_API_KEY",
        timeout_s: float = TIMEOUT_S,
        max_retries: int = MAX_RETRIES,
        provider: str = "anthropic",
        prices: Prices | None = None,
    ) -> None:
        options: dict[str, Any] = {"timeout": timeout_s, "max_retries": max_retries, "open_telemetry": False}
        if base_url is not None:
            options["base_url"] = base_url
        sdk = Sdk("anthropic", "AsyncAnthropic", provider=provider, api_key_env=api_key_env, options=options)
        super().__init__(id, provider=provider, prices=prices, sdk=sdk)

    def __repr__(self) -> str:
        return f"AnthropicModel({self._id!r}, provider={self._provider!r})"

    async def generate(self, request: Request) -> Reply:
        """Answer the request.

        Raises:
            ModelError: the subclass says what happened.
        """
        params = params_of(request, self._id, self._provider)
        create = (await self._sdk.client()).messages.create
        answer = await self._whole(create, params)
        return reply_of(answer, output_tool(request), self._provider, self._prices)

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Answer the request in pieces, ``Done`` last. A structured answer comes as one piece.

        Raises:
            ModelError: as ``generate``, also after some pieces.
        """
        params = params_of(request, self._id, self._provider)
        create = (await self._sdk.client()).messages.create
        wanted = output_tool(request)
        state = MessageStream(wanted, self._provider)
        async with aclosing(self._pieces(create, params, state)) as deltas:
            async for delta in deltas:
                yield delta
        reply = reply_of(state.whole(), wanted, self._provider, self._prices)
        for delta in state.output_delta():
            yield delta
        yield Done(reply)
