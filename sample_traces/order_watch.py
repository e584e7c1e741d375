"""An order watch: an agent that is reborn until an order has arrived; its memory lives over the generations."""

from __future__ import annotations

import asyncio

from runtime import Request, ScriptedModel, agent, call, memory, prompt, reborn, say, tool
from runtime.messages import ToolCallResponsePart, text_of

STATES = ["packed", "on its way", "delivered"]
_asked = 0


@tool(effect="idempotent")
async def order_status(order: int) -> dict[str, object]:
    """Where an order is; the same question gets another answer as time goes by."""
    global _asked
    _asked += 1
    await asyncio.sleep(0.03)
    return {"order": order, "state": STATES[min(_asked, len(STATES)) - 1]}


@tool(effect="committed")
def notify(customer: str, text: str) -> str:
    """Send the customer a message."""
    return f"sent to {customer}: {text}"


def watch_script(request: Request):
    """Asks for the state, then says it."""
    results = [p.response for m in request.messages for p in m.parts if isinstance(p, ToolCallResponsePart)]
    if not results:
        return call("order_status", order=5)
    state = results[0]["state"]
    if state == "delivered" and len(results) == 1:
        return call("notify", customer="Ada", text="Your order 5 has arrived.")
    seen = text_of(request.messages[1:2]).rpartition("So far: ")[2]
    return say(f"Order 5 is {state}. Before that: {seen or 'nothing known'}.")


watch_model = ScriptedModel(
    id="watch-small", script=watch_script, latency_s=0.06, input_nano_usd=50, output_nano_usd=200
)


@agent(model=watch_model, tools=[order_status, notify], max_generations=5)
async def order_watch(order: int) -> dict[str, object]:
    """Watch one order; each look is a generation."""
    seen = memory.get("seen", [])
    answer = await prompt(
        f"Where is order {order}? So far: {', '.join(seen)}", system="You watch orders. Tell the customer once."
    )
    state = answer.text.removeprefix("Order 5 is ").partition(".")[0]
    memory["seen"] = [*seen, state]
    memory["looks"] = memory.get("looks", 0) + 1
    if state != "delivered":
        return reborn()
    return {"order": order, "looks": memory["looks"], "states": memory["seen"]}


if __name__ == "__main__":
    from _record import record

    record(order_watch, "order_watch", order=5)
