"""Records a sample: runs its agent, writes the trace beside it, says what is in it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from runtime import Run
from runtime.trace import read_spans


def record(fn, name: str, **given) -> None:
    """Run the agent and write ``NAME.otlp.jsonl``; a failing run is a sample as good as any."""
    path = Path(__file__).parent / f"{name}.otlp.jsonl"
    path.unlink(missing_ok=True)
    run = Run(trace_file=path, service=name.replace("_", "-"))
    try:
        ended = f"output: {asyncio.run(run.execute(fn, given))!r}"
    except Exception as error:  # noqa: BLE001 - said below, and in the trace
        ended = f"failed: {type(error).__name__}: {error}"
    spans = read_spans(path)
    print(f"{path.name}: {len(spans)} spans in {len({s.trace_id for s in spans})} trace; {ended}")
