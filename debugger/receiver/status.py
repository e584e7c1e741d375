"""What a receiver says about itself: one frozen status, as a line for people and as JSON for programs."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import asdict, dataclass
from typing import Final, Literal, TypeAlias

from ..analysis.text import plural

State: TypeAlias = Literal["starting", "listening", "stopping", "stopped"]
_RATE_OVER_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A receiver at one moment."""

    state: State
    http: str | None
    """Address and port; None where HTTP is not received."""
    grpc: str | None
    library: str
    requests: int = 0
    spans: int = 0
    """Acknowledged; one that is sent again counts again, as only the library knows it."""
    logs: int = 0
    rejected: int = 0
    refused: int = 0
    bytes: int = 0
    in_library: int = 0
    """Spans that can be seen by now, those left of earlier runs among them."""
    spans_per_second: float = 0.0
    set_aside: int = 0
    """Acknowledged requests that could not be brought in since the start."""
    last_set_aside: str = ""
    """Where the last one of them is, and why."""
    problem: str = ""
    note: str = ""
    """What was found or is missing at the start."""

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Status:
        """The status that ``to_json`` wrote. Raises ValueError, TypeError."""
        return cls(**json.loads(line))

    def where(self) -> str:
        """Where exporters send to."""
        doors = [f"{name} {at}" for name, at in (("HTTP", self.http), ("gRPC", self.grpc)) if at]
        return " and ".join(doors)

    def line(self) -> str:
        """One line for people."""
        parts = [f"{plural(self.spans, 'span')} received"]
        if self.logs:
            parts.append(plural(self.logs, "log record"))
        if self.spans_per_second >= 1:
            parts.append(f"{plural(round(self.spans_per_second), 'span')}/s")
        if self.rejected:
            parts.append(f"{plural(self.rejected, 'record')} not readable")
        if self.refused:
            parts.append(f"{plural(self.refused, 'request')} refused")
        if self.set_aside:
            parts.append(f"{plural(self.set_aside, 'request')} set aside ({self.last_set_aside})")
        if self.problem:
            parts.append(self.problem)
        return f"{self.state}: {', '.join(parts)}"


class Rate:
    """Spans a second over the last few seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def at(self, now: float, spans: int) -> float:
        """The rate, with the count as it is now."""
        self._seen.append((now, spans))
        while len(self._seen) > 2 and now - self._seen[0][0] > _RATE_OVER_S:
            self._seen.popleft()
        then, before = self._seen[0]
        return round((spans - before) / (now - then), 1) if now > then else 0.0
