"""What a frame spent: sums of tokens, money and calls, and the same per model or tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..messages import Usage

NANO_USD = "nano_usd"
"""The unit of cost: billionths of a US dollar, whole numbers."""

ItemKey: TypeAlias = tuple[str, str, str, str]


@dataclass(slots=True)
class UsageItem:
    """What one model or one tool cost."""

    type: Literal["model", "tool"]
    name: str
    provider: str | None = None
    unit: str | None = None
    """Of a tool's ``quantity``; None for models."""
    costs: dict[str, int] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    quantity: int = 0

    @property
    def key(self) -> ItemKey:
        """Items with the same key are one."""
        return (self.type, self.provider or "", self.name, self.unit or "")

    def merge(self, other: UsageItem) -> None:
        """Add the other's sums."""
        _add_costs(self.costs, other.costs)
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.total_tokens += other.total_tokens
        self.quantity += other.quantity


@dataclass(slots=True)
class UsageStats:
    """Sums over calls. A number that a call did not report adds nothing."""

    costs: dict[str, int] = field(default_factory=dict)
    """By unit; see ``NANO_USD``."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    call_count: int = 0
    items: dict[ItemKey, UsageItem] = field(default_factory=dict)

    def add_model_call(self, usage: Usage, model: str | None, provider: str | None) -> None:
        """Count one model call that was really made. O(1)."""
        prompt = usage.input_tokens or 0
        completion = usage.output_tokens or 0
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        self.total_tokens += prompt + completion
        self.call_count += 1
        key = ("model", provider or "", model or "", "")
        item = self.items.get(key)
        if item is None:
            item = self.items[key] = UsageItem("model", model or "", provider)
        item.prompt_tokens += prompt
        item.completion_tokens += completion
        item.total_tokens += prompt + completion
        if usage.cost_nano_usd is not None:
            self.costs[NANO_USD] = self.costs.get(NANO_USD, 0) + usage.cost_nano_usd
            item.costs[NANO_USD] = item.costs.get(NANO_USD, 0) + usage.cost_nano_usd

    def add_tool_use(self, name: str, quantity: int, unit: str | None, costs: Mapping[str, int]) -> None:
        """Count one report of what a tool used up. O(1)."""
        self.call_count += 1
        _add_costs(self.costs, costs)
        key = ("tool", "", name, unit or "")
        item = self.items.get(key)
        if item is None:
            item = self.items[key] = UsageItem("tool", name, None, unit)
        item.quantity += quantity
        _add_costs(item.costs, costs)

    def merge(self, other: UsageStats, with_items: bool = True) -> None:
        """Add the other's sums, its items too if wanted; the other stays as it is. Cost: O(items of the other)."""
        _add_costs(self.costs, other.costs)
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.total_tokens += other.total_tokens
        self.call_count += other.call_count
        if not with_items:
            return
        for key, item in other.items.items():
            mine = self.items.get(key)
            if mine is None:
                mine = self.items[key] = UsageItem(item.type, item.name, item.provider, item.unit)
            mine.merge(item)

    def copy(self) -> UsageStats:
        """An independent copy."""
        items = {
            key: UsageItem(
                item.type,
                item.name,
                item.provider,
                item.unit,
                item.costs.copy(),
                item.prompt_tokens,
                item.completion_tokens,
                item.total_tokens,
                item.quantity,
            )
            for key, item in self.items.items()
        }
        return UsageStats(
            self.costs.copy(), self.prompt_tokens, self.completion_tokens, self.total_tokens, self.call_count, items
        )


LateSums: TypeAlias = Callable[[int], tuple[UsageStats | None, UsageStats] | None]
"""Frame -> its sums, given once: its own, and with everything below it; None for nothing."""


class Budget:
    """The spend of a frame: its own, and with everything below it.

    Most frames of a big trace are never asked for theirs, so the sums are made when first looked at.
    """

    __slots__ = ("_aggregate", "_frame", "_late", "_own")

    def __init__(self, own: UsageStats | None = None, aggregate: UsageStats | None = None) -> None:
        """Without an aggregate, nothing below the frame has spent anything."""
        self._own = own
        self._aggregate = aggregate
        self._late: LateSums | None = None
        self._frame = -1

    def wait_for(self, late: LateSums, frame: int) -> None:
        """When someone first looks, add what ``late`` gives for the frame of that number."""
        self._late = late
        self._frame = frame

    def add(self, own: UsageStats | None, total: UsageStats) -> None:
        """Add to the sums.

        Args:
            own: what the frame itself spent; None for nothing. Not to be changed afterwards.
            total: what the frame and everything below it spent; the same object as ``own`` where that is all.
        """
        if self._own is None and self._aggregate is None and total is own:
            self._own = own
            return
        self._fill()
        assert self._own is not None
        assert self._aggregate is not None
        if own is not None:
            self._own.merge(own)
        self._aggregate.merge(total)

    def _fill(self) -> None:
        # Both at once: who gets hold of one may add to it, and the other must not follow.
        if self._own is None:
            self._own = UsageStats()
        if self._aggregate is None:
            self._aggregate = self._own.copy()

    def _look(self) -> None:
        late = self._late
        if late is not None:
            self._late = None
            found = late(self._frame)
            if found is not None:
                self.add(*found)

    @property
    def own(self) -> UsageStats:
        """What the frame itself spent."""
        self._look()
        self._fill()
        assert self._own is not None
        return self._own

    @property
    def aggregate(self) -> UsageStats:
        """What the frame and everything below it spent."""
        self._look()
        self._fill()
        assert self._aggregate is not None
        return self._aggregate

    def total(self) -> UsageStats | None:
        """The aggregate to read only, or None where nothing was spent; makes no sums of its own."""
        self._look()
        return self._own if self._aggregate is None else self._aggregate

    def copy(self) -> Budget:
        """An independent copy."""
        self._look()
        own, aggregate = self._own, self._aggregate
        return Budget(None if own is None else own.copy(), None if aggregate is None else aggregate.copy())

    def __deepcopy__(self, memo: dict[int, object]) -> Budget:
        return self.copy()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Budget):
            return NotImplemented
        return self.own == other.own and self.aggregate == other.aggregate

    def __hash__(self) -> int:
        raise TypeError("budgets change, so they have no hash")

    def __repr__(self) -> str:
        return f"Budget(own={self.own!r}, aggregate={self.aggregate!r})"


def _add_costs(into: dict[str, int], costs: Mapping[str, int]) -> None:
    for unit, amount in costs.items():
        into[unit] = into.get(unit, 0) + amount
