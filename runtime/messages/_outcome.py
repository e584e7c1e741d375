"""What came of a call: an answer, a failure or an abort, with what it cost."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ._json import Json

OutcomeStatus: TypeAlias = Literal["ok", "error", "aborted"]


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error as plain data: its class name (qualified where it is not a builtin) and message."""

    type: str
    message: str

    @classmethod
    def of(cls, error: BaseException) -> ErrorInfo:
        """The error as data; an error that cannot even print itself is named by its class."""
        kind = type(error)
        module = kind.__module__
        if module == "__main__":
            # The program's own name, under which a replay loads it; "__main__" would then be something else.
            module = Path(getattr(sys.modules["__main__"], "__file__", None) or "__main__").stem
        name = kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"
        try:
            message = str(error)
        except Exception as fault:  # noqa: BLE001 - a broken __str__ must not hide the error itself
            message = f"(no message: {type(fault).__name__} in __str__)"
        # As text that can be written, so that the error read back equals the one that was raised.
        return cls(name, message.encode("utf-8", "replace").decode())

    def to_json(self) -> dict[str, str]:
        """``{"type", "message"}``."""
        return {"type": self.type, "message": self.message}


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and money of one call, or a sum of them. None means not known, which is not zero."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    """Of the input: read from the provider's cache."""
    reasoning_tokens: int | None = None
    cost_nano_usd: int | None = None
    """Billionths of a US dollar, an integer so that sums are exact."""
    cache_write_tokens: int | None = None
    """Of the input: written to the provider's cache, which has a price of its own."""

    def to_json(self) -> dict[str, int]:
        """The known fields only."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}

    @classmethod
    def from_json(cls, data: Json) -> Usage:
        """The fields that are whole numbers; anything else counts as not known."""
        if not isinstance(data, Mapping):
            return cls()
        return cls(**{name: data[name] for name in cls.__slots__ if type(data.get(name)) is int})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One recorded answer of a journal entry."""

    status: OutcomeStatus
    output: Json = None
    """The assistant message (``message_to_json``) of a model turn, the result of a tool, or the value taken."""
    error: ErrorInfo | None = None
    trace_id: str | None = None
    span_id: str | None = None
    usage: Usage = field(default_factory=Usage)
    start_unix_nano: int | None = None
    duration_ns: int | None = None
    lost: str | None = None
    """Why this outcome cannot answer again (not JSON, content not recorded); None when it can."""
    inferred: tuple[str, ...] = field(default=(), compare=False)
    """What was taken from another span of the trace; restore notes it in the frame, and it is not written."""

    @property
    def can_answer(self) -> bool:
        """Aborts and outcomes whose content was lost are recorded but never answer."""
        return self.status != "aborted" and self.lost is None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Outcome:
        """The outcome that ``to_json`` wrote.

        Raises: KeyError, TypeError: it is none.
        """
        error = data.get("error")
        return cls(
            status=data["status"],
            output=data.get("output"),
            error=ErrorInfo(error["type"], error["message"]) if error else None,
            trace_id=data.get("traceId"),
            span_id=data.get("spanId"),
            usage=Usage.from_json(data.get("usage")),
            start_unix_nano=data.get("startUnixNano"),
            duration_ns=data.get("durationNs"),
            lost=data.get("lost"),
        )

    def to_json(self) -> dict[str, Any]:
        """The outcome with snapshot field names; absent fields are left out."""
        out: dict[str, Any] = {"status": self.status}
        if self.status == "ok":
            out["output"] = self.output
        if self.error:
            out["error"] = self.error.to_json()
        if usage := self.usage.to_json():
            out["usage"] = usage
        named = {
            "traceId": self.trace_id,
            "spanId": self.span_id,
            "startUnixNano": self.start_unix_nano,
            "durationNs": self.duration_ns,
            "lost": self.lost,
        }
        return out | {key: value for key, value in named.items() if value is not None}
