"""Random agent programs as plain data, and an interpreter that runs one as real agents.

A program observes all that it does: what tools gave, what models said, its memory, values taken, and what failed. All
of that is its output, so two runs with the same output saw the same things.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from runtime import Agent, ScriptedModel, Tool, agent, call, memory, new_id, now, prompt, reborn, say, tool
from runtime import random as random_number
from runtime.messages import Request, text_of
from runtime.tools import Rejected, ToolInvocation

# Programs ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Write:
    """Write memory; ``None`` as value deletes the key."""

    key: str
    value: Any


@dataclass(frozen=True)
class Take:
    """Take a value from the runtime."""

    name: str


@dataclass(frozen=True)
class Hands:
    """Tools called by hand, one after the other or all at once."""

    calls: tuple[tuple[str, int], ...]
    at_once: bool
    caught: bool


@dataclass(frozen=True)
class Race:
    """Tools called by hand beside one that never ends by itself, and is cancelled when the others have ended."""

    calls: tuple[tuple[str, int], ...]
    loser: int


@dataclass(frozen=True)
class Ask:
    """A prompt. Each turn is a text or a batch of tool calls; after the last one the model ends with a number."""

    turns: tuple[str | tuple[tuple[str, int], ...], ...]
    wants_number: bool
    caught: bool


@dataclass(frozen=True)
class Fail:
    """Raise."""

    kind: str


@dataclass(frozen=True)
class Pause:
    """Let others run."""


@dataclass(frozen=True)
class Call:
    """Sub-agents, one after the other or all at once. A loose failure leaves the siblings running."""

    agents: tuple[Program, ...]
    at_once: bool
    caught: bool
    loose: bool = False


Step: TypeAlias = "Write | Take | Hands | Race | Ask | Fail | Pause | Call"


@dataclass(frozen=True)
class Program:
    """One agent: its steps, how many generations it has, and whether each gets an input of its own."""

    name: str
    steps: tuple[Step, ...]
    generations: int = 1
    new_input: bool = True


TOOLS = ("echo", "count", "broken", "moody", "layered", "delegate", "asked", "blocking", "notes", "stamped", "outer")
"""Tools that can be called by hand; ``helper``, an agent, only by the model."""

ERRORS = ("ValueError", "KeyError", "Custom", "Group")


def random_program(
    seed: int, *, depth: int = 4, loose: bool = False, reads_memory: bool = True, races: bool = True
) -> Program:
    """The program of that seed; the same in every process and Python version.

    Args:
        seed: any number; higher ones are no larger programs.
        depth: how deep agents nest at most.
        loose: also parallel calls that leave siblings running when one fails, whose timing decides what happens.
        reads_memory: also programs that depend on what their memory holds when they start.
        races: also programs that cancel calls, which only a strict replay lets wait until they are cancelled again.
    """
    dice = _Dice(random.Random(seed), loose, reads_memory, races)
    while _steps_of(program := dice.program(depth)) > MOST_STEPS:
        continue
    return program


MOST_STEPS = 80
"""Steps that one run of a program takes at most, over all its agents and generations."""


def _steps_of(program: Program) -> int:
    calls = (step for step in program.steps if isinstance(step, Call))
    below = sum(_steps_of(sub) for step in calls for sub in step.agents)
    return (1 + len(program.steps) + below) * program.generations


class _Dice:
    """Draws programs."""

    def __init__(self, rng: random.Random, loose: bool, reads_memory: bool, races: bool) -> None:
        self.rng = rng
        self.races = races
        self.loose = loose
        self.reads_memory = reads_memory

    def program(self, depth: int) -> Program:
        rng = self.rng
        steps = tuple(self.step(depth) for _ in range(rng.choice([0, 1, 2, 3, 3, 4])))
        generations = rng.choice([1, 1, 1, 2, 3])
        return Program(
            rng.choice(["ada", "bob", "cy"]), steps, generations, not self.reads_memory or rng.random() < 0.5
        )

    def step(self, depth: int) -> Step:
        rng = self.rng
        kinds = ["take", "hands", "hands", "ask", "ask", "pause"]
        kinds += ["write", "write"] * self.reads_memory + ["call"] * (3 if depth > 1 else 0)
        kinds += ["race"] * self.races
        caught = rng.random() < 0.8
        match rng.choice(kinds) if rng.random() < 0.93 else "fail":
            case "write":
                value = rng.choice([None, None, 1, "two", [3, {"four": None}], 0.5, "\u2028\x00é"])
                return Write(rng.choice(["k", "l", "m"]), value)
            case "take":
                return Take(rng.choice(["now", "random", "new_id"]))
            case "hands":
                return Hands(self.batch(TOOLS), rng.random() < 0.5, caught)
            case "race":
                return Race(self.batch(TOOLS), rng.randint(0, 3))
            case "ask":
                turns = (self.turn() for _ in range(rng.randint(0, 3)))
                return Ask(tuple(turns), rng.random() < 0.4, caught)
            case "call":
                agents = tuple(self.program(depth - 1) for _ in range(rng.randint(1, 3)))
                if self.loose and rng.random() < 0.4:
                    return Call(agents, True, False, True)
                return Call(agents, rng.random() < 0.6, caught)
            case "fail":
                return Fail(rng.choice(ERRORS))
        return Pause()

    def turn(self) -> str | tuple[tuple[str, int], ...]:
        return self.rng.choice(["words", "7"]) if self.rng.random() < 0.4 else self.batch((*TOOLS, "helper", "nothing"))

    def batch(self, names: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
        return tuple((self.rng.choice(names), self.rng.randint(0, 2)) for _ in range(self.rng.randint(1, 3)))


# The interpreter -----------------------------------------------------------------------------------------------


class CustomError(Exception):
    """An error whose constructor wants more than a message."""

    def __init__(self, code: int, what: str) -> None:
        self.code = code
        super().__init__(f"{what} ({code})")


def error_of(kind: str) -> Exception:
    """One of ``ERRORS``."""
    match kind:
        case "KeyError":
            return KeyError("lost")
        case "Custom":
            return CustomError(3, "odd")
        case "Group":
            return ExceptionGroup("several", [ValueError("one"), TypeError("two")])
    return ValueError("wrong")


@dataclass
class World:
    """What lies outside of a run: it remembers each real call, and answers each time a little differently."""

    real: list[str] = field(default_factory=list)
    """The tools and models that were really called."""
    times: Counter[str] = field(default_factory=Counter)
    tools: dict[str, Tool] = field(default_factory=dict)
    model: ScriptedModel = field(init=False)
    helper: Agent[..., Any] = field(init=False)

    def __post_init__(self) -> None:
        self.model = ScriptedModel(id="m", script=self._say, input_nano_usd=3, output_nano_usd=7)
        _make_tools(self)

    def happen(self, what: str) -> int:
        """Note a real call; how often it has happened."""
        self.real.append(what)
        self.times[what] += 1
        return self.times[what]

    def _say(self, request: Request) -> Any:
        time = self.happen("model")
        user = next(m for m in request.messages if m.role == "user")
        turns = json.loads(text_of([user]))["turns"]
        done = sum(m.role == "assistant" for m in request.messages)
        if done >= len(turns):
            return say(str(time))
        turn = turns[done]
        return say(turn) if isinstance(turn, str) else [call(name, n=n) for name, n in turn]

    def approve(self, invocation: ToolInvocation) -> Any:
        """The approval hook: says no to 2, and to 1 with a reason."""
        self.happen("approval")
        n = invocation.arguments["n"]
        return Rejected("not one") if n == 1 else n == 0

    def build(self, program: Program) -> Agent[..., Any]:
        """The program as an agent."""

        async def handler(given: int = 0) -> Any:
            out: list[Any] = [given]
            generation = memory.get("generation", 0) if not program.new_input else given
            if not program.new_input:
                memory["generation"] = generation + 1
                out.append(dict(memory))
            for step in program.steps:
                out.append(await self.do(step))
            if generation + 1 < program.generations:
                return reborn(given + 1) if program.new_input else reborn()
            return out

        return agent(name=program.name, model=self.model, tools=[*self.tools.values(), self.helper])(handler)

    async def do(self, step: Step) -> Any:
        """Take one step; what came of it."""
        match step:
            case Write(key, None):
                return memory.pop(key, "nothing there")
            case Write(key, value):
                memory[key] = value
                return dict(memory)
            case Take(name):
                return {"now": lambda: now().isoformat(), "random": random_number, "new_id": new_id}[name]()
            case Pause():
                return await asyncio.sleep(0)
            case Fail(kind):
                raise error_of(kind)
            case Hands(calls, at_once, caught):
                made = [lambda name=name, n=n: self.tools[name](n) for name, n in calls]
                return await _all(made, at_once, caught)
            case Race(calls, loser):
                waits = asyncio.ensure_future(self.tools["hangs"](loser))
                await asyncio.sleep(0)  # its call has started then
                found = await _all([lambda name=name, n=n: self.tools[name](n) for name, n in calls], True, True)
                waits.cancel()
                lost = await asyncio.gather(waits, return_exceptions=True)
                return [*found, type(lost[0]).__name__, memory.get("hung")]
            case Call(agents, at_once, caught, loose):
                started = [lambda sub=sub: self.build(sub)() for sub in agents]
                if loose:
                    return await asyncio.gather(*[start() for start in started])
                return await _all(started, at_once, caught)
            case Ask(turns, wants_number, caught):
                asked = prompt(json.dumps({"turns": turns}), output=int if wants_number else None, max_steps=4)
                return await _all([lambda: _output(asked)], False, caught)


async def _output(asked: Any) -> Any:
    return (await asked).output


async def _all(makers: list[Any], at_once: bool, caught: bool) -> list[Any]:
    """The results, errors among them as text; the first error is raised when not caught, after all have ended."""
    found: list[Any] = []
    if at_once:
        # Called here in order, before anything is awaited, as docs/writing-an-agent.md asks.
        found = list(await asyncio.gather(*[make() for make in makers], return_exceptions=True))
    else:
        for make in makers:
            try:
                found.append(await make())
            except Exception as error:  # noqa: BLE001 - a program observes every failure
                found.append(error)
                if not caught:
                    break
    errors = [each for each in found if isinstance(each, BaseException)]
    if errors and not caught:
        raise errors[0]
    return [f"{type(e).__name__}: {e}" if isinstance(e, BaseException) else e for e in found]


def _make_tools(world: World) -> None:  # noqa: C901 - one function per tool
    async def twice_and_more(invocation: ToolInvocation, inner: Any) -> Any:
        try:
            return await inner(invocation) + 100
        except ValueError:
            return await inner(invocation) + 1000

    def tool_of(**options: Any) -> Any:
        def keep(fn: Any) -> None:
            world.tools[fn.__name__] = tool(**options)(fn)

        return keep

    @agent(name="helper", model=world.model)
    async def helper(n: int) -> Any:
        memory["n"] = n
        return [n, await world.tools["count"](n), random_number(), (await prompt('{"turns": []}')).text]

    world.helper = helper

    @tool_of()
    async def echo(n: int, more: str = "x") -> Any:
        world.happen("echo")
        return {"n": n, "more": more}

    @tool_of()
    async def count(n: int) -> int:
        return world.happen(f"count {n}")

    @tool_of()
    async def broken(n: int) -> int:
        world.happen("broken")
        raise error_of(ERRORS[n])

    @tool_of()
    async def moody(n: int) -> int:
        time = world.happen("moody")
        if time % 2:
            raise ValueError(f"not now ({time})")
        return time

    @tool_of(middleware=[twice_and_more])
    async def layered(n: int) -> int:
        time = world.happen("layered")
        if time % 3 == 0:
            raise ValueError(f"no ({time})")
        return time

    @tool_of()
    async def delegate(n: int) -> Any:
        world.happen("delegate")
        await asyncio.sleep(0)
        return await helper(n)

    @tool_of(needs_approval=True)
    async def asked(n: int) -> int:
        return world.happen("asked")

    @tool_of()
    def blocking(n: int) -> int:
        return world.happen("blocking")

    @tool_of()
    async def notes(n: int) -> int:
        memory["k"] = memory["noted"] = world.happen("notes")
        return n

    @tool_of()
    async def stamped(n: int) -> float:
        world.happen("stamped")
        return random_number()

    @tool_of()
    async def hangs(n: int) -> None:
        world.happen("hangs")
        memory["hung"] = n
        if n == 1:
            await world.tools["count"](n)
        elif n == 2:
            await helper(n)
        elif n == 3:
            await prompt('{"turns": []}')
        await asyncio.Event().wait()

    @tool_of()
    async def outer(n: int) -> Any:
        return [await world.tools["count"](n), world.happen("outer")]
