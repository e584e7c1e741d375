"""What the models on the official SDKs have in common: their names, and a streamed answer piece by piece."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any, Protocol

from ._prices import Prices
from ._protocol import Delta
from ._sdk import Sdk
from ._wire import as_mapping


class StreamState(Protocol):
    """Makes deltas of the pieces of one answer, and in the end the whole of it."""

    def feed(self, piece: Mapping[str, Any], /) -> Iterator[Delta]:
        """The deltas in one piece."""

    def whole(self) -> Mapping[str, Any]:
        """The answer put together. Raises ModelTransportError where the stream ended before it did."""


class SdkModel:
    """A model behind one of the SDKs. Keys and connections are the business of ``Sdk``."""

    def __init__(self, id: str, *, provider: str, prices: Prices | None, sdk: Sdk) -> None:
        self._id = id
        self._provider = provider
        self._prices = prices
        self._sdk = sdk

    @property
    def id(self) -> str:
        """The model's name as the server knows it."""
        return self._id

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self._provider

    async def aclose(self) -> None:
        """Close the connections of the running event loop now; they are closed when it shuts down in any case."""
        await self._sdk.aclose()

    async def _whole(self, create: Any, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer in one piece. Raises ModelError."""
        with self._sdk.errors():
            answer = await create(**params)
        return as_mapping(answer, self._provider)

    async def _pieces(self, create: Any, params: Mapping[str, Any], state: StreamState) -> AsyncGenerator[Delta, None]:
        """The deltas of a streamed answer, which ``state`` collects. Raises ModelError."""
        with self._sdk.errors():
            async with await create(**params, stream=True) as events:
                async for event in events:
                    for delta in state.feed(as_mapping(event, self._provider)):
                        yield delta
