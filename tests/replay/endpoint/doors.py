"""Recording through the endpoint from a real (fake) provider, and replaying what came of it, in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from debugger.replay.endpoint.adapters import routes_of
from debugger.replay.endpoint.door import Door
from debugger.replay.endpoint.server import Endpoint
from debugger.replay.endpoint.tape import Tape, tape_of
from debugger.replay.endpoint.trail import Trail
from debugger.replay.endpoint.upstream import Upstream
from debugger.replay.model import ReplayJob
from debugger.replay.recording import Recording
from debugger.replay.redact import Redaction
from debugger.store import Store
from runtime.messages import Outcome
from tests.runtime.models.servers import serving

Program = Callable[[Endpoint], Any]


def record(path: Path, script: list[Any], program: Program, redaction: Redaction | None = None) -> Any:
    """Run the program in front of a provider that says the script; what it returned."""
    trail = Trail(path, name="program", input={}, redaction=redaction)
    with serving(*script) as real:
        upstream = Upstream({"openai": real.url, "anthropic": real.url})
        with Endpoint(Door(trail), upstream=upstream, mode="live") as endpoint:
            found = program(endpoint)
    trail.close(Outcome(status="ok"))
    return found


def recording_of(path: Path) -> Recording:
    with Store.memory() as store:
        store.load([str(path)])
        trace_id = store.traces()[0].trace_id
        return Recording(trace_id, store.calls(trace_id), [path])


def tape_for(recording: Recording, *, left_out: Any = None, **job: Any) -> Tape:
    made = ReplayJob(trace_id=recording.trace_id, **job)
    return tape_of(recording, made, left_out=left_out, on_row=lambda row: None)


@contextmanager
def replaying(
    recording: Recording, path: Path | None = None, *, left_out: Any = None, **job: Any
) -> Iterator[Endpoint]:
    door = Door(Trail(path, name="replay", input={}), tape_for(recording, left_out=left_out, **job))
    with Endpoint(door, extras=routes_of(door).routes) as endpoint:
        yield endpoint


def statuses(endpoint: Endpoint) -> list[str]:
    assert endpoint.door.tape is not None
    return [row.status for row in endpoint.door.tape.session.rows]
