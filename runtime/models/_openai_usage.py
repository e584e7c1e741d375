"""What an answer of OpenAI's protocols cost: both count the same things, under two sets of names."""

from __future__ import annotations

from typing import Any

from ..messages import Usage
from ._prices import Prices
from ._wire import count


def usage_of(data: Any, prices: Prices | None, *, sent: str, got: str) -> Usage:
    """Tokens as the provider counts them; cached ones are part of the input, reasoning is part of the output.

    Args:
        data: the answer's ``usage``.
        prices: to compute the cost; without them it is not known.
        sent: how the protocol calls the input, ``prompt`` or ``input``.
        got: how it calls the output, ``completion`` or ``output``.
    """
    sent_tokens, got_tokens = count(data, f"{sent}_tokens"), count(data, f"{got}_tokens")
    cached = count(data, f"{sent}_tokens_details", "cached_tokens")
    written = count(data, f"{sent}_tokens_details", "cache_write_tokens")
    cost = None
    if prices is not None:
        cost = prices.cost(
            input_tokens=sent_tokens, output_tokens=got_tokens, cached_tokens=cached, cache_write_tokens=written
        )
    return Usage(
        input_tokens=sent_tokens,
        output_tokens=got_tokens,
        cached_tokens=cached,
        reasoning_tokens=count(data, f"{got}_tokens_details", "reasoning_tokens"),
        cost_nano_usd=cost,
    )
