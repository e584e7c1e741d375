"""Models behind OpenAI's protocols: OpenAI itself and the many servers that speak them. On the official SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Literal

from ..messages import Request, text_of
from . import _openai_chat as chat
from . import _openai_responses as responses
from ._prices import Prices
from ._protocol import Delta, Done, Reply, TextDelta
from ._sdk import MAX_RETRIES, TIMEOUT_S, Sdk
from ._sdk_model import SdkModel
from ._wire import Output


class OpenAIModel(SdkModel):
    """A model of OpenAI, or of a server that speaks the same protocol. Needs ``pip install 'retrospan[openai]'``.

    Sampling parameters go by their GenAI names (``temperature``, ``max_tokens``, ``stop_sequences``, …); parameters of
    other names are sent as they are, so whatever the server knows can be given. Retries and timeouts are the SDK's.

    Args:
        id: the model's name as the server knows it.
        base_url: where the server is; by default OpenAI's, or what ``OPENAI_BASE_URL`` says.
        api_key_env: the environment variable that holds the key, read when the model is first asked. The key is not
            kept by this object and comes into no error, log or trace. None for a server that wants no key.
        timeout_s: for each attempt.
        max_retries: further attempts after connection errors, 408, 409, 429 and 5xx.
        api: ``chat`` for chat completions, which nearly every server speaks; ``responses`` for the newer protocol.
        provider: the provider's name in traces and in the content hash.
        prices: to compute what a call cost; without them the cost is not known.
    """

    def __init__(
        self,
        id: str,
        *,
        base_url: str | None = None,
        api_key_env: str | None = "OPENAI_API_KEY",
        timeout_s: float = TIMEOUT_S,
        max_retries: int = MAX_RETRIES,
        api: Literal["chat", "responses"] = "chat",
        provider: str = "openai",
        prices: Prices | None = None,
    ) -> None:
        if api not in ("chat", "responses"):
            raise ValueError(f"api must be 'chat' or 'responses', not {api!r}")
        self._api = api
        self._base_url = base_url
        options: dict[str, Any] = {"timeout": timeout_s, "max_retries": max_retries}
        if base_url is not None:
            options["base_url"] = base_url
        sdk = Sdk("openai", "AsyncOpenAI", provider=provider, api_key_env=api_key_env, options=options)
        super().__init__(id, provider=provider, prices=prices, sdk=sdk)

    def __repr__(self) -> str:
        return f"OpenAIModel({self._id!r}, api={self._api!r}, provider={self._provider!r})"

    async def generate(self, request: Request) -> Reply:
        """Answer the request.

        Raises:
            ModelError: the subclass says what happened.
        """
        create, params = await self._call(request)
        return self._reply(await self._whole(create, params), request)

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Answer the request in pieces, ``Done`` last.

        Raises:
            ModelError: as ``generate``, also after some pieces.
        """
        create, params = await self._call(request)
        output = Output.of(request)
        wrapped = output is not None and output.wrapped
        state: chat.ChatStream | responses.ResponseStream
        if self._api == "chat":
            params["stream_options"] = {"include_usage": True}
            state = chat.ChatStream(wrapped, self._provider)
        else:
            state = responses.ResponseStream(wrapped, self._provider)
        async with aclosing(self._pieces(create, params, state)) as deltas:
            async for delta in deltas:
                yield delta
        reply = self._reply(state.whole(), request)
        if wrapped and (text := text_of([reply.message])):
            yield TextDelta(text)
        yield Done(reply)

    async def _call(self, request: Request) -> tuple[Any, dict[str, Any]]:
        """The SDK's method and its arguments."""
        if self._api == "responses":
            params = responses.params_of(request, self._id, self._provider)
            return (await self._sdk.client()).responses.create, params
        # OpenAI's newer models refuse max_tokens; other servers often know nothing else.
        max_tokens_key = "max_completion_tokens" if self._base_url is None else "max_tokens"
        params = chat.params_of(request, self._id, self._provider, max_tokens_key)
        return (await self._sdk.client()).chat.completions.create, params

    def _reply(self, answer: Any, request: Request) -> Reply:
        reply_of = chat.reply_of if self._api == "chat" else responses.reply_of
        return reply_of(answer, Output.of(request), self._provider, self._prices)
