"""What tools use up beside the model's tokens: pages read, seconds rented, money paid."""

from __future__ import annotations

from collections.abc import Mapping

from ..trace import ToolUsage
from ._context import current_context, current_span


def record_tool_usage(
    name: str, *, quantity: int = 0, unit: str | None = None, costs: Mapping[str, int] | None = None
) -> None:
    """Add to the budget of the frame that the code runs in, and so to those above it.

    A tool that a replay answers from the recording does not run, so it adds nothing.

    Args:
        name: of the tool.
        quantity: how much was used up, in ``unit``.
        unit: such as ``pages``; uses in different units are counted apart.
        costs: whole numbers by unit of money; ``nano_usd`` is billionths of a US dollar.

    Raises:
        ContextNotFoundError: outside a run.
        ValueError: a quantity or cost that is no whole number; sums of those would depend on their order.
    """
    context = current_context("record_tool_usage()")
    paid = dict(costs or {})
    for what, amount in {"quantity": quantity, **paid}.items():
        if type(amount) is not int:
            raise ValueError(f"{what} of tool {name} is {amount!r}; it must be a whole number, so use a smaller unit")

    def apply(_: int) -> None:
        context.spent.add_tool_use(name, quantity, unit, paid)

    span_id = current_span.get() or context.span_id
    context.run.point(span_id, ToolUsage, first=apply, name=name, quantity=quantity, unit=unit, costs=paid)
