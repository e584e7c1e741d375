"""A model that goes wrong on purpose, the same way each time: for testing how agents take it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, assert_never

from ..errors import ModelTransportError
from ..messages import Message, Part, Request, TextPart, ToolCallPart
from ._collect import deltas_of
from ._protocol import Delta, Done, Model, Reply
from ._wire import to_text

FaultKind: TypeAlias = Literal["error", "delay", "cut", "empty", "bad_arguments", "wrong_tool", "broken_stream"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that goes wrong, and when.

    ================= =================================================================================
    kind              what happens
    ================= =================================================================================
    ``error``         ``error`` is raised and the inner model is not asked
    ``delay``         the answer comes ``seconds`` later
    ``cut``           all text after ``keep`` characters is gone, and the finish reason is ``length``
    ``empty``         the message has no parts
    ``bad_arguments`` the arguments of each tool call are a JSON text without its end
    ``wrong_tool``    each tool call names ``tool``, which does not exist
    ``broken_stream`` a stream raises ``error`` after ``keep`` pieces; asked without a stream, at once
    ================= =================================================================================

    It happens at the calls in ``at``, or else with ``probability`` at each call.
    """

    kind: FaultKind
    at: tuple[int, ...] = ()
    """Numbers of calls, the first is 1."""
    probability: float = 0.0
    """From 0 to 1; looked at only where ``at`` is empty."""
    error: Callable[[], Exception] | Exception | None = None
    """What is raised, or what makes it; None = a ModelTransportError. An exception that is given is raised itself, so
    give a class or function where calls run in parallel."""
    seconds: float = 0.0
    keep: int = 0
    tool: str = "no_such_tool"

    def __post_init__(self) -> None:
        if not 0.0 <= self.probability <= 1.0:
            raise ValueError(f"probability must be from 0 to 1, not {self.probability}")
        if any(number < 1 for number in self.at):
            raise ValueError(f"calls are numbered from 1, so at={self.at} never happens")
        if self.keep < 0 or self.seconds < 0:
            raise ValueError("keep and seconds cannot be negative")

    def make_error(self, call: int) -> Exception:
        """The exception to raise at a call."""
        if self.error is None:
            return ModelTransportError(f"injected at call {call}", provider="faulty", type=self.kind)
        return self.error if isinstance(self.error, Exception) else self.error()


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Faults and the seed that decides the ones with a probability."""

    faults: tuple[Fault, ...] = ()
    seed: int = 0

    def at(self, call: int) -> tuple[Fault, ...]:
        """The faults of a call. They follow from its number and the seed alone, whatever happened at other calls."""
        return tuple(fault for index, fault in enumerate(self.faults) if self._happens(fault, index, call))

    def _happens(self, fault: Fault, index: int, call: int) -> bool:
        if fault.at:
            return call in fault.at
        drawn = hashlib.sha256(f"{self.seed}/{index}/{call}".encode()).digest()[:8]
        return int.from_bytes(drawn, "big") < fault.probability * 2**64


class FaultyModel:
    """A model around another one, with the same id and provider, so that nothing else about a run changes.

    The number of a call is taken when ``generate`` or ``stream`` begins. In a stream, the whole answer is made first
    and then given in pieces.

    Args:
        inner: the model that answers.
        plan: what goes wrong and when; an empty plan changes nothing.
    """

    def __init__(self, inner: Model, plan: FaultPlan | None = None) -> None:
        self.inner = inner
        self.plan = plan or FaultPlan()
        self.calls = 0
        """How often it was asked."""
        self.happened: list[tuple[int, FaultKind]] = []
        """The faults so far, with the numbers of their calls."""

    @property
    def id(self) -> str:
        """That of the inner model."""
        return self.inner.id

    @property
    def provider(self) -> str | None:
        """That of the inner model."""
        return self.inner.provider

    async def generate(self, request: Request) -> Reply:
        """The inner model's answer, with this call's faults.

        Raises:
            Exception: the fault's error, or what the inner model raised.
        """
        call, faults = self._next()
        for fault in faults:
            if fault.kind == "broken_stream":
                raise fault.make_error(call)
        return await self._answer(request, call, faults)

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """As ``generate``, in pieces.

        Raises:
            Exception: as ``generate``; for ``broken_stream`` after some pieces.
        """
        call, faults = self._next()
        broken = next((fault for fault in faults if fault.kind == "broken_stream"), None)
        reply = await self._answer(request, call, faults)
        for number, delta in enumerate(deltas_of(reply)):
            if broken is not None and (number == broken.keep or isinstance(delta, Done)):
                raise broken.make_error(call)
            yield delta

    def _next(self) -> tuple[int, tuple[Fault, ...]]:
        self.calls += 1
        faults = self.plan.at(self.calls)
        self.happened.extend((self.calls, fault.kind) for fault in faults)
        return self.calls, faults

    async def _answer(self, request: Request, call: int, faults: tuple[Fault, ...]) -> Reply:
        for fault in faults:
            if fault.kind == "delay":
                await asyncio.sleep(fault.seconds)
            elif fault.kind == "error":
                raise fault.make_error(call)
        reply = await self.inner.generate(request)
        for fault in faults:
            reply = replace(reply, message=_spoiled(reply.message, fault))
        return reply


def _spoiled(message: Message, fault: Fault) -> Message:
    match fault.kind:
        case "error" | "delay" | "broken_stream":
            return message
        case "empty":
            return replace(message, parts=())
        case "cut":
            return replace(message, parts=_cut(message.parts, fault.keep), finish_reason="length")
        case "bad_arguments":
            return replace(message, parts=tuple(_with_bad_arguments(part) for part in message.parts))
        case "wrong_tool":
            parts = (replace(p, name=fault.tool) if isinstance(p, ToolCallPart) else p for p in message.parts)
            return replace(message, parts=tuple(parts))
        case _:
            assert_never(fault.kind)


def _cut(parts: tuple[Part, ...], keep: int) -> tuple[Part, ...]:
    out: list[Part] = []
    for part in parts:
        if isinstance(part, TextPart):
            part = TextPart(part.content[:keep])
            keep -= len(part.content)
        out.append(part)
    return tuple(part for part in out if part != TextPart(""))


def _with_bad_arguments(part: Part) -> Part:
    if not isinstance(part, ToolCallPart):
        return part
    return replace(part, arguments=to_text(part.arguments)[:-1] or "{")
