"""A refund desk that fails: the checks run, then the ledger refuses, and nothing handles it."""

from __future__ import annotations

import asyncio

from runtime import Request, ScriptedModel, agent, call, memory, prompt, say, tool
from runtime.messages import ToolCallResponsePart


class LedgerError(Exception):
    """The ledger refuses an entry."""


@tool(effect="pure")
async def find_payment(invoice: str) -> dict[str, object]:
    """The payment of an invoice."""
    await asyncio.sleep(0.04)
    return {"invoice": invoice, "amount": 84.5, "currency": "EUR", "settled": False}


@tool(effect="reversible")
async def book_refund(invoice: str, amount: float) -> str:
    """Book a refund in the ledger."""
    await asyncio.sleep(0.05)
    raise LedgerError(f"payment of {invoice} is not settled, so {amount:.2f} cannot be refunded")


def desk_script(request: Request):
    """Checks the payment, then decides; it overlooks that the payment is not settled."""
    found = any(isinstance(p, ToolCallResponsePart) for m in request.messages for p in m.parts)
    return say("refund 84.50") if found else call("find_payment", invoice="R-2041")


desk_model = ScriptedModel(id="desk-small", script=desk_script, latency_s=0.07, input_nano_usd=50, output_nano_usd=200)


@agent(model=desk_model, tools=[find_payment])
async def refund_desk(invoice: str) -> str:
    """Decide on a refund, and book it."""
    answer = await prompt(
        f"The customer wants money back for {invoice}.", system="You decide on refunds. Say 'refund AMOUNT' or 'no'."
    )
    memory["decision"] = answer.text
    amount = float(answer.text.removeprefix("refund "))
    return await book_refund(invoice, amount)


if __name__ == "__main__":
    from _record import record

    record(refund_desk, "refund_desk", invoice="R-2041")
