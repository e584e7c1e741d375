"""The function that the child process runs for a rebuilt agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from runtime.messages import Json, message_from_json

from .live import model_for
from .play import Means, Player
from .script import script_from_json
from .tools import implementations


def rebuilt_agent(job: dict[str, Any]) -> Callable[..., Awaitable[Json]]:
    """The agent of the job's script, as a function; its input is in the script, and only shown as that of the run."""
    script = script_from_json(job["script"])
    named = implementations(job.get("named_tools", {}))
    inputs = tuple(map(message_from_json, job.get("edits", {}).get("inputs", ())))
    means = Means(model=model_for, tools=named, keeps_inputs=job["keep_inputs"], inputs=inputs)

    async def rebuilt(**_: Json) -> Json:
        return await Player(script, means).run()

    return rebuilt
