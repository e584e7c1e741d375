"""A run that dies in the middle, and goes on in another process. A library for the tests, and a program of its own.

``python program.py batch FOLDER SEED KILLS`` kills a run that often, each time at another moment, and resumes each from
the trace that it left. Every run is a process of its own, forked from one that has only imported. One JSON line per
kill goes to standard output.

The agents act on the world through ``act``, which adds one line to a file and flushes it to the disk before the call
goes on: so the file says what really happened, whatever became of the process.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runtime import Run, ScriptedModel, agent, call, memory, new_id, now, prompt, read_events, reborn, resume, say, tool
from runtime.messages import Request, text_of
from runtime.tools import ToolInvocation

TOPICS = ["tides", "waves", "winds"]
PAUSE_S = 0.002
"""How long each call takes, so that a kill by the clock finds some of them running."""


class Suicide:
    """When the process kills itself: at an event of the run, or inside the nth act on the world."""

    def __init__(self, event: int = -1, act: int = -1) -> None:
        self.event = event
        self.act = act
        self.acts = 0
        self.events = 0

    def on_event(self, _: Any) -> None:
        """Subscribed before the trace file is, so the event at which the process dies is not written."""
        if self.events == self.event:
            os.kill(os.getpid(), signal.SIGKILL)
        self.events += 1

    def on_act(self) -> None:
        """After the world was changed, before the call ends."""
        if self.acts == self.act:
            os.kill(os.getpid(), signal.SIGKILL)
        self.acts += 1


LOG: list[Path] = []
SUICIDE = [Suicide()]


def act(what: str) -> None:
    """Change the world."""
    fd = os.open(LOG[0], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, f"{what}\n".encode())
    os.fsync(fd)
    os.close(fd)
    SUICIDE[0].on_act()


# The agents --------------------------------------------------------------------------------------------------------


def script(request: Request) -> Any:
    """What the model says. Every request of the program is another one, so the text of the last message names it."""
    user = text_of([next(m for m in reversed(request.messages) if m.role == "user")])
    answered = sum(m.role == "assistant" for m in request.messages)
    act(f"model {user} #{answered}")
    if not user.startswith("Research") or answered:
        return say(f"about {user}")
    topic = user.split()[-1]
    return [call("look_up", topic=topic), call("measure", topic=topic), call("ask_checker", topic=topic)]


model = ScriptedModel(id="scripted", script=script, latency_s=PAUSE_S)


async def try_again(invocation: ToolInvocation, inner: Callable[[ToolInvocation], Any]) -> Any:
    """Middleware: a second attempt after a failure, with the number of the attempt as an argument."""
    try:
        return await inner(invocation)
    except ValueError:
        arguments = {**invocation.arguments, "attempt": 2}
        return await inner(ToolInvocation(name=invocation.name, arguments=arguments, call_id=invocation.call_id))


@tool
async def look_up(topic: str) -> str:
    act(f"look_up {topic}")
    await asyncio.sleep(PAUSE_S)
    return f"facts of {topic}"


@tool
def measure(topic: str) -> int:
    act(f"measure {topic}")
    time.sleep(PAUSE_S)
    memory[f"measured {topic}"] = len(topic)
    return len(topic)


@tool(middleware=[try_again])
async def publish(topic: str, ticket: str, attempt: int = 1) -> str:
    act(f"publish {topic} {attempt}")
    await asyncio.sleep(PAUSE_S)
    if attempt == 1:
        raise ValueError("busy")
    return f"{topic} is out as {ticket}"


@agent(model=model)
async def checker(topic: str) -> str:
    memory["rounds"] = memory.get("rounds", 0) + 1
    found = await prompt(f"Check {topic} {memory['rounds']}")
    return reborn() if memory["rounds"] < 2 else found.text


@tool
async def ask_checker(topic: str) -> str:
    await asyncio.sleep(PAUSE_S * (TOPICS.index(topic) % 2))
    return await checker(topic)


@agent(model=model, tools=[look_up, measure, ask_checker])
async def researcher(topic: str) -> list[str]:
    ticket = new_id()
    answer = await prompt(f"Research {topic}")
    checks = await asyncio.gather(checker(f"{topic} again"), look_up(f"{topic} by hand"))
    published = await publish(topic, ticket)
    assert published.endswith(ticket)
    return [answer.text, *checks, topic, str(memory[f"measured {topic}"])]


@agent(model=model)
async def desk(topics: list[str]) -> list[Any]:
    started = now()
    found = await asyncio.gather(*[researcher(topic) for topic in topics])
    memory["found"] = len(found)
    closing = await prompt(f"Close {len(found)}")
    assert now() >= started
    return [*found, closing.text]


EXPECTED = [
    *[
        [f"about Research {t}", f"about Check {t} again 2", f"facts of {t} by hand", t, str(len(t))]
        for t in TOPICS
    ],
    "about Close 3",
]  # fmt: skip

WORLD = Counter(
    [f"model Research {t} #{i}" for t in TOPICS for i in range(2)]
    + [f"{what} {t}" for t in TOPICS for what in ("look_up", "measure")]
    + [f"look_up {t} by hand" for t in TOPICS]
    + [f"publish {t} {attempt}" for t in TOPICS for attempt in (1, 2)]
    + [f"model Check {t}{again} {i} #0" for t in TOPICS for again in ("", " again") for i in (1, 2)]
    + ["model Close 3 #0"]
)
"""What happens to the world when nothing goes wrong: each of them once."""


def acts_that_ended(trace: Path) -> set[str]:
    """The acts of the calls whose ends stand in the trace, failures apart, since resume tries those again."""
    found: set[str] = set()
    for event in read_events(trace):
        outcome = getattr(event, "outcome", None)
        if outcome is None or outcome.status != "ok":
            continue
        if event.type == "model_turn.end":
            user = text_of([next(m for m in reversed(event.request.messages) if m.role == "user")])
            found.add(f"model {user} #{sum(m.role == 'assistant' for m in event.request.messages)}")
        elif event.type == "tool.attempt":
            found.add(f"publish {event.request.arguments['topic']} {event.request.arguments['attempt']}")
        elif event.type == "tool.end" and event.request.name in ("look_up", "measure"):
            found.add(f"{event.request.name} {event.request.arguments['topic']}")
    return found


# Processes ---------------------------------------------------------------------------------------------------------


def go(log: Path, trace: Path, suicide: Suicide) -> Any:
    """One run to its end, if it gets there; its output. What the trace file already tells is not done again."""
    LOG[:] = [log]
    SUICIDE[:] = [suicide]
    if trace.exists() and read_events(trace):
        return asyncio.run(resume(desk, trace, trace_file=trace))
    run = Run(trace_file=trace)
    run.subscribe("*", suicide.on_event)
    assert not run.enable_snapshot
    return asyncio.run(run.execute(desk, {"topics": TOPICS}))


def in_a_process(work: Callable[[], Any], kill_after_s: float | None = None) -> tuple[int, Any]:
    """Run the work in a forked process; the signal that ended it (0 for none), and what it gave."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            text = json.dumps(work())
            os.write(write, text.encode())
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(read, encoding="utf-8") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status), None
    return -os.WEXITSTATUS(status), json.loads(text) if text else None


def kill_and_resume(folder: Path, how: dict[str, Any]) -> dict[str, Any]:
    """One kill, or several in a row, then a resume that nothing stops; what a test needs to judge it.

    All runs write the same trace file. ``repeated`` holds the acts that happened again although the trace told their
    end.
    """
    log, trace, at_kill = folder / "world", folder / "run.jsonl", folder / "killed.jsonl"
    killed: list[int] = []
    done: dict[str, int] = {}
    for each in how["kills"]:
        suicide = Suicide(each.get("event", -1), each.get("act", -1))
        killed.append(in_a_process(lambda s=suicide: go(log, trace, s), each.get("after_s"))[0])
        world = _world(log)
        for ended in acts_that_ended(trace) if trace.exists() else ():
            done.setdefault(ended, world[ended])
    if trace.exists():
        shutil.copy(trace, at_kill)
    ended, output = in_a_process(lambda: go(log, trace, Suicide()))
    world = _world(log)
    return {
        "how": how,
        "killed": killed,
        "trace": str(at_kill),
        "done": len(done),
        "repeated": sorted(what for what, times in done.items() if world[what] != times),
        "world": dict(world),
        "ended": ended,
        "output": output,
    }


def _world(log: Path) -> Counter[str]:
    return Counter(log.read_text().splitlines() if log.exists() else ())


def plans(seed: int, kills: int) -> list[dict[str, Any]]:
    """Where to kill: at events, inside acts, by the clock, and a second time while resuming."""
    rng = random.Random(seed)
    out: list[dict[str, Any]] = []
    for i in range(kills):
        ways = [{"event": rng.randrange(1, 150)}, {"act": rng.randrange(30)}, {"after_s": rng.uniform(0.01, 0.15)}]
        again = [{"act": rng.randrange(8)} for _ in range(rng.randint(1, 2))] if i % 3 == 2 else []
        out.append({"kills": [ways[i % 3], *again]})
    return out


def main() -> None:
    """See the module."""
    os.environ["RETROSPAN_ENV"] = "production"
    folder, seed, kills = Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    for i, how in enumerate(plans(seed, kills)):
        each = folder / str(i)
        each.mkdir()
        print(json.dumps(kill_and_resume(each, how)), flush=True)


if __name__ == "__main__":
    main()
