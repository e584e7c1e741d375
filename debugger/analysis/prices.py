"""What a model call would cost by a price list, for recordings that name no cost. Never mixed with recorded cost.

The list is the one that the package genai-prices ships (extra ``prices``); nothing is fetched. What the list does not
know, or what the recording does not say (tokens, model, provider), has no price.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from runtime.messages import Call
from runtime.messages import Usage as Used

from ..replay.model import LiveUse
from .text import cost

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo

_PACKAGE: Final = "genai-prices"
_PROVIDERS: Final = {
    "aws.bedrock": "aws",
    "az.ai.inference": "azure",
    "az.ai.openai": "azure",
    "azure.ai.inference": "azure",
    "azure.ai.openai": "azure",
    "gcp.gemini": "google",
    "gcp.gen_ai": "google",
    "gcp.vertex_ai": "google",
    "mistral_ai": "mistral",
    "vertex_ai": "google",
    "x_ai": "x-ai",
}
"""Words of the semantic conventions that the price list spells in another way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedCost:
    """A cost that was not recorded but computed."""

    nano_usd: int
    prices: str
    """The price list and its version: ``genai-prices 0.2.3``."""
    priced_as: str
    """Provider and model in the words of the list."""
    price_date: str
    """The day for which the price was looked up: that of the call (ISO)."""

    def to_json(self) -> dict[str, Any]:
        """As ``show --json`` gives it."""
        return {
            "usd": self.nano_usd / 1_000_000_000,
            "prices": self.prices,
            "priced_as": self.priced_as,
            "price_date": self.price_date,
        }


class _Tokens(NamedTuple):
    given: int
    """All input, the two below included."""
    told: int
    read: int
    written: int


def computed_cost(call: Call) -> ComputedCost | None:
    """The price of a model call; None where cost is recorded or anything is unknown.

    Input that the provider read from its cache or wrote to it has its own price, where the list knows one.

    Cost: the first call imports the price list, about a second; call it in a worker.
    """
    if call.kind not in ("llm", "embedding") or call.start_unix_nano is None:
        return None
    if call.usage.output_tokens is None and call.kind == "llm":
        return None
    return _priced(call.usage, call.provider, (call.response_model, call.model), call.start_unix_nano)


def together(costs: Sequence[ComputedCost | None]) -> ComputedCost | None:
    """The sum; None where there is none, or where one is not known."""
    known = [cost for cost in costs if cost is not None]
    if not known or len(known) < len(costs):
        return None
    names = ", ".join(dict.fromkeys(cost.priced_as for cost in known))
    return replace(known[-1], nano_usd=sum(cost.nano_usd for cost in known), priced_as=names)


def price_of(calls: Sequence[Call]) -> str:
    """What recorded calls would cost by the price list, as a sentence after another; empty where one is unknown."""
    computed = together([computed_cost(call) for call in calls])
    return f" That would be {cost(computed.nano_usd)} by {computed.prices}." if computed else ""


def live_cost(live: Sequence[LiveUse]) -> ComputedCost | None:
    """What a replay's real model calls cost together by the price list; as ``computed_cost`` of each."""
    return together([_priced(use.usage, use.provider, (use.model,), use.start_unix_nano) for use in live])


def _priced(
    usage: Used, provider: str | None, models: Sequence[str | None], start_unix_nano: int
) -> ComputedCost | None:
    names = [name for name in models if name is not None]
    if usage.cost_nano_usd is not None or usage.input_tokens is None or not names or provider is None:
        return None
    tokens = _Tokens(
        given=usage.input_tokens,
        told=usage.output_tokens or 0,
        read=usage.cached_tokens or 0,
        written=usage.cache_write_tokens or 0,
    )
    if min(tokens) < 0 or tokens.read + tokens.written > tokens.given or _installed() is None:
        return None
    try:
        moment = datetime.fromtimestamp(start_unix_nano / 1_000_000_000, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    for name in dict.fromkeys(names):
        known = _PROVIDERS.get(provider, provider)
        if (found := _price(name.rpartition("/")[2], known, tokens, moment)) is not None:
            return found
    return None


@lru_cache(maxsize=1)
def _installed() -> str | None:
    """The version of the price list. Kept: asking reads the package's files, 3 ms for each call of a trace."""
    try:
        return version(_PACKAGE)
    except PackageNotFoundError:
        return None


def _price(name: str, provider: str, tokens: _Tokens, moment: datetime) -> ComputedCost | None:
    listed = _listed_as(name, provider)
    if listed is None:
        return None
    total = _plain_total(listed, tokens, moment)
    if total is None:
        total = _asked(name, provider, tokens, moment)
    if total is None:
        return None
    return ComputedCost(
        nano_usd=round(total * 1_000_000_000),
        prices=f"{_PACKAGE} {_installed()}",
        priced_as=f"{listed.provider_id}/{listed.model.id}",
        price_date=moment.date().isoformat(),
    )


class _Listed(NamedTuple):
    """What the list made of a provider and a model."""

    provider_id: str
    model: ModelInfo


@lru_cache(maxsize=1_000)
def _listed_as(name: str, provider: str) -> _Listed | None:
    """The model that is meant, if the list knows it: to find that it does not takes the package a millisecond."""
    from genai_prices import Usage, calc_price

    try:
        found = calc_price(Usage(input_tokens=0, output_tokens=0), name, provider_id=provider)
    except (LookupError, ValueError):
        return None
    return _Listed(found.provider.id, found.model)


_PLAIN: Final = frozenset(
    (
        "input_mtok",
        "output_mtok",
        "cache_read_mtok",
        "cache_write_mtok",
        "cache_write_1h_mtok",
        "web_searches_kcount",
        "storage_searches_kcount",
    )
)
"""Prices of tokens, and of things that a call does not count."""


def _plain_total(listed: _Listed, tokens: _Tokens, moment: datetime) -> Decimal | None:
    """The price where it is only so much for each token in and out, as most are; the package needs 200 us for that.

    None where there is more to it: a cache was used, prices have steps, or other things than these tokens cost.
    """
    if tokens.read or tokens.written:
        return None
    prices = {key: price for key, price in vars(listed.model.get_prices(moment)).items() if price is not None}
    given, told = prices.get("input_mtok"), prices.get("output_mtok", Decimal(0))
    if not (_PLAIN.issuperset(prices) and isinstance(given, Decimal) and isinstance(told, Decimal)):
        return None
    return (given * tokens.given + told * tokens.told) / 1_000_000


def _asked(name: str, provider: str, tokens: _Tokens, moment: datetime) -> Decimal | None:
    """What the package says."""
    from genai_prices import Usage, calc_price

    usage = Usage(
        input_tokens=tokens.given,
        output_tokens=tokens.told,
        cache_read_tokens=tokens.read or None,
        cache_write_tokens=tokens.written or None,
    )
    try:
        found = calc_price(usage, name, provider_id=provider, genai_request_timestamp=moment)
    except (LookupError, ValueError):
        return None  # no such provider or model in the list, or a usage that it has no price for
    return found.total_price
