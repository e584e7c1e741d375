"""How fast restore, the playhead, journal hits and content hashes are, against the original and against a bare loop.

Usage: ``bench_restore.py [TIMES.json]`` with the recorded times of the original for the ratios. Compare ratios, not
seconds: the loop over the same events is measured in the same run. CPU time stands beside wall time, since a busy
machine stretches only the latter.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from runtime.journal import Journal, Matcher, ReplaySession
from runtime.messages import Message, Outcome, Request, TextPart, Usage
from runtime.snapshot import SnapshotCursor, restore_snapshot
from runtime.trace import AgentEnd, AgentStart, GenerationEnd, ModelTurnEnd, SpanEnd, SpanStart, TraceEvent

TRACE = "t" * 32
START = 1_700_000_000_000_000_000
STEP = 1_000_000


class Times(NamedTuple):
    """Medians in seconds."""

    wall: float
    cpu: float


def timed(work: Callable[[], object], repeats: int = 5) -> Times:
    """Median wall and CPU time of some runs; the result of each is freed before the next."""
    walls, cpus = [], []
    for _ in range(repeats):
        if repeats > 1:
            gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        del result
    return Times(median(walls), median(cpus))


def mixed(count: int, agent_ids: int = 10) -> list[TraceEvent]:
    """One root whose children have seven events each, under some agent ids: the original's mixed trace."""
    events: list[TraceEvent] = []

    def add(kind: type[TraceEvent], span: str, parent: str | None, **fields: Any) -> None:
        at = START + len(events) * STEP
        events.append(kind(time_unix_nano=at, trace_id=TRACE, span_id=span, parent_span_id=parent, **fields))

    usage = Usage(input_tokens=10, output_tokens=5)
    add(AgentStart, "root", None, agent_id="root", input={})
    add(SpanStart, "root.g", "root", name="generation")
    for i in range((count - 4) // 7):
        agent, inner, turn = f"a{i}", f"g{i}", f"m{i}"
        answer = {"role": "assistant", "content": f"answer {i}"}
        add(AgentStart, agent, "root.g", agent_id=f"worker{i % agent_ids}", input={"n": i})
        add(SpanStart, inner, agent, name="generation")
        add(SpanStart, turn, inner, name="turn")
        outcome = Outcome(status="ok", output=answer, usage=usage, start_unix_nano=START + len(events) * STEP)
        add(ModelTurnEnd, turn, inner, content_hash=f"h{i}", outcome=outcome)
        add(GenerationEnd, inner, agent, generation=0, memory={"n": i})
        add(SpanEnd, inner, agent)
        add(AgentEnd, agent, "root.g", outcome=Outcome(status="ok", output=i))
    add(SpanEnd, "root.g", "root")
    add(AgentEnd, "root", None, outcome=Outcome(status="ok", output="done"))
    return events


def bare_loop(events: list[TraceEvent]) -> Callable[[], object]:
    """The least that any restore does: look at every event's type, span and parent."""

    def run() -> int:
        seen: dict[str, str | None] = {}
        for event in events:
            if type(event) is not SpanEnd:
                seen[event.span_id] = event.parent_span_id
        return len(seen)

    return run


def restores(original: dict[str, float]) -> Iterator[str]:
    """Restore of traces that grow, and of one where all agents have one id."""
    cases = [
        ("10k", "restore 10k mixed", mixed(10_000), 9),
        ("100k", "restore 100k mixed", mixed(100_000), 5),
        ("100k one", "restore 100k, one agent id", mixed(100_000, agent_ids=1), 5),
        ("1M", "restore 1M mixed", mixed(1_000_000), 3),
    ]
    for key, name, events, repeats in cases:
        floor = timed(bare_loop(events), repeats)
        found = timed(lambda events=events: restore_snapshot(events), repeats)  # type: ignore[misc]
        line = f"{name:<32}{_shown(found)}  {found.cpu / floor.cpu:5.1f} x a bare loop"
        snapshots = [restore_snapshot(events) for _ in range(3)]
        sums = timed(lambda kept=snapshots: kept.pop().root.budget.aggregate, 3)  # type: ignore[misc]
        line += f"  (budgets, when first looked at: {sums.cpu * 1e3:.2f} ms)"
        if key in original:
            line += f"  {original[key] / found.cpu:6.1f} x as fast as the original"
        yield line + f"  {found.cpu / len(events) * 1e6:.2f} µs an event"


def playhead(count: int) -> Iterator[str]:
    """One pass, then any event; both ways and at random."""
    events = mixed(count)
    # In turn, since a busy machine is not equally slow for long.
    both = [(timed(lambda: restore_snapshot(events), 2), timed(lambda: SnapshotCursor(events), 2)) for _ in range(4)]
    whole, once = (Times(*(median(each) for each in zip(*times, strict=True))) for times in zip(*both, strict=True))
    cursor = SnapshotCursor(events)
    yield f"playhead {count:,}: the pass        {_shown(once)}  {once.cpu / whole.cpu:5.2f} x a restore"
    chance = random.Random(1)
    last = len(cursor) - 1
    ways = {
        "forward": [last // 2 + i for i in range(300)],
        "back": [last // 2 - i for i in range(300)],
        "random": [chance.randrange(1, last) for _ in range(300)],
    }
    for way, positions in ways.items():
        times = sorted(timed(lambda at=at: cursor.at(at), 1).cpu for at in positions)  # type: ignore[misc]
        yield f"playhead {count:,}: {way:<15} median {median(times) * 1e3:6.2f} ms, slowest {times[-1] * 1e3:6.2f} ms"


def conversation(size: int) -> list[Message]:
    """Messages of one KB each."""
    return [
        Message("user" if i % 2 else "assistant", (TextPart(f"{i} " + "word " * 200),)) for i in range(size // 1000)
    ]


def journal_hit() -> Iterator[str]:
    """What a replay adds to a call: the hash of a 50 KB conversation that grew by one message, and the look-up."""
    old = conversation(50_000)
    requests = []
    for i in range(300):
        for message in old:
            _ = message.digest  # the messages before were hashed in the turns before
        requests.append([*old, Message("user", (TextPart(f"next {i} " + "word " * 200),))])
    journal = Journal()
    for messages in requests:
        asked = Request(messages=tuple(messages), model="m", provider="p")
        outcome = Outcome(status="ok", output={"role": "assistant", "parts": []}, span_id="s")
        journal.record("prompt", asked.content_hash, outcome, asked)

    def fresh() -> Iterator[Request]:
        for messages in requests:
            last = messages[-1]
            yield Request(messages=(*messages[:-1], Message(last.role, last.parts)), model="m", provider="p")

    matcher, session = Matcher({"root": journal}), ReplaySession({"root": journal})
    ways: dict[str, Callable[[Request], object]] = {
        "matcher": lambda asked: matcher.match("root", "prompt", asked),
        "replay session": lambda asked: session.answer("root", "prompt", "m", "root/prompt:prompt:0", asked),
    }
    for name, ask in ways.items():

        def all_of_them(ask: Callable[[Request], object] = ask) -> None:
            for asked in fresh():
                ask(asked)

        matcher, session = Matcher({"root": journal}), ReplaySession({"root": journal})
        began = time.process_time()
        all_of_them()
        yield f"journal hit, {name:<19} mean {(time.process_time() - began) / len(requests) * 1e6:6.1f} µs CPU"


def hashes() -> Iterator[str]:
    """Content hashes of prompts that nobody has hashed before."""
    for size in (50_000, 1_000_000):
        texts = [message.parts for message in conversation(size)]

        def fresh(texts: list[Any] = texts) -> str:
            return Request(messages=tuple(Message("user", parts) for parts in texts), model="m").content_hash

        yield f"content hash of {size // 1000:>5,} KB          {_shown(timed(fresh, 9))}"


def _shown(times: Times) -> str:
    return f"{times.wall * 1e3:9.2f} ms wall {times.cpu * 1e3:9.2f} ms CPU"


def original_times(path: Path) -> dict[str, float]:
    """Seconds of the original, cold where that was recorded: it restores once per process."""
    data = json.loads(path.read_text("utf-8"))
    cold = {(row["shape"], row["n"]): row["restore_ms"] / 1e3 for row in data["fresh_process"] if row.get("restore_ms")}
    found = {"10k": cold["mixed", 10_000], "100k": cold["mixed", 99_999]}
    # It takes quadratic time where all agents have one id; its longest run is compared as it is, which flatters it.
    return found | {"100k one": max(seconds for (shape, _), seconds in cold.items() if shape == "fan_same")}


def main() -> None:
    """Print one line for each measurement."""
    original = original_times(Path(sys.argv[1])) if len(sys.argv) > 1 else {}
    for lines in (restores(original), playhead(10_000), playhead(100_000), journal_hit(), hashes()):
        for line in lines:
            print(line, flush=True)


if __name__ == "__main__":
    main()
