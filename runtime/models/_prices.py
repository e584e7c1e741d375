"""What tokens cost. Prices are the user's to give: none are built in, since they change."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

_NANO_PER_USD_PER_MILLION = 1000
"""A dollar per million tokens is 1000 billionths of a dollar per token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices of a model in US dollars per million tokens, as providers list them."""

    input_usd: float | Decimal
    output_usd: float | Decimal
    cached_usd: float | Decimal | None = None
    """Input read from the provider's cache; None = as other input."""
    cache_write_usd: float | Decimal | None = None
    """Input written to the provider's cache; None = as other input."""

    def cost(
        self,
        *,
        input_tokens: int | None,
        output_tokens: int | None,
        cached_tokens: int | None = None,
        cache_write_tokens: int | None = None,
    ) -> int | None:
        """Billionths of a dollar, rounded once; None where the tokens are not known.

        Args:
            input_tokens: the whole input, with what was read from and written to the cache.
            output_tokens: the whole output, with reasoning.
            cached_tokens: the part of the input that was read from the cache.
            cache_write_tokens: the part of the input that was written to the cache.
        """
        if input_tokens is None or output_tokens is None:
            return None
        cached, written = cached_tokens or 0, cache_write_tokens or 0
        priced = (
            (input_tokens - cached - written, self.input_usd),
            (cached, self.input_usd if self.cached_usd is None else self.cached_usd),
            (written, self.input_usd if self.cache_write_usd is None else self.cache_write_usd),
            (output_tokens, self.output_usd),
        )
        # str(), so that 0.1 means a tenth and not the nearest binary fraction.
        total = sum(tokens * Decimal(str(price)) for tokens, price in priced) * _NANO_PER_USD_PER_MILLION
        return int(Decimal(total).to_integral_value())
