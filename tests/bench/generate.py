"""A deterministic OTLP/JSON file of any size: one request a line, 100 spans a line and trace, about 2.75 KB a span.

Model calls repeat the conversation that has grown so far, as agents do. Usage: ``generate.py SPANS FILE [one]``; with
``one``, all spans are of one trace, below one root.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

SPANS_PER_TRACE = 100
_WORDS = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "it",
    "for",
    "on",
    "with",
    "as",
    "was",
    "at",
    "by",
    "order",
    "refund",
    "train",
    "weather",
    "booking",
    "city",
    "museum",
    "river",
    "price",
    "currency",
    "request",
    "answer",
    "result",
    "table",
    "error",
    "because",
    "before",
    "after",
    "customer",
    "agent",
    "report",
    "ticket",
    "schedule",
    "42",
    "1789",
]


def _text(rng: random.Random, size: int) -> str:
    words = []
    length = 0
    while length < size:
        word = rng.choice(_WORDS)
        words.append(word)
        length += len(word) + 1
    return " ".join(words)


def _pairs(**values: object) -> list[dict[str, object]]:
    out: list[dict[str, object]] = []
    for key, value in values.items():
        kind = "intValue" if isinstance(value, int) else "stringValue"
        out.append({"key": key.replace("__", "."), "value": {kind: str(value)}})
    return out


def _span(rng: random.Random, trace: str, at: int, index: int, history: list[dict[str, object]]) -> dict[str, object]:
    span_id = f"{int(trace[:8], 16):08x}{index + 1:08x}"
    base = {
        "traceId": trace,
        "spanId": span_id,
        "parentSpanId": "" if index == 0 else f"{int(trace[:8], 16):08x}{max(1, index // 20 * 20):08x}",
        "kind": 1,
        "startTimeUnixNano": str(at),
        "endTimeUnixNano": str(at + rng.randrange(1_000_000, 900_000_000)),
        "status": {"code": 2, "message": "timed out"} if rng.random() < 0.01 else {},
        "flags": 256,
    }
    if index % 20 == 0:
        name = f"agent_{index // 20}"
        operation = _pairs(gen_ai__operation__name="invoke_agent", gen_ai__agent__name=name)
        return base | {"name": f"invoke_agent {name}", "attributes": operation}
    if index % 5 == 4:
        tool = rng.choice(("search", "get_weather", "run_sql"))
        attributes = _pairs(
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name=tool,
            gen_ai__tool__call__id=f"call_{span_id}",
            gen_ai__tool__call__arguments=json.dumps({"query": _text(rng, 60)}),
            gen_ai__tool__call__result=_text(rng, 900),
        )
        return base | {"name": f"execute_tool {tool}", "attributes": attributes}
    history.append({"role": "user", "parts": [{"type": "text", "content": _text(rng, 180)}]})
    answer = {"role": "assistant", "parts": [{"type": "text", "content": _text(rng, 260)}], "finish_reason": "stop"}
    attributes = _pairs(
        gen_ai__operation__name="chat",
        gen_ai__provider__name="openai",
        gen_ai__request__model="gpt-4o-mini",
        gen_ai__response__model="gpt-4o-mini-2024-07-18",
        gen_ai__usage__input_tokens=rng.randrange(50, 4000),
        gen_ai__usage__output_tokens=rng.randrange(5, 400),
        gen_ai__input__messages=json.dumps(history),
        gen_ai__output__messages=json.dumps([answer]),
    )
    history.append(answer)
    return base | {"name": "chat gpt-4o-mini", "attributes": attributes}


def lines(spans: int, seed: int = 7, *, one_trace: bool = False) -> Iterator[bytes]:
    """The lines of the file, with their line feeds.

    Args:
        spans: how many.
        seed: of all texts and times.
        one_trace: all are of the first line's trace, and its first span is the root of the other lines' first ones.
    """
    resource = {"attributes": _pairs(service__name="bench", telemetry__sdk__language="python")}
    clock = 1_760_000_000_000_000_000
    whole, root = "", {}
    for first in range(0, spans, SPANS_PER_TRACE):
        rng = random.Random(seed * 1_000_003 + first)
        trace = f"{first + 1:08x}{rng.getrandbits(96):024x}"
        history: list[dict[str, object]] = []
        rows = []
        for index in range(min(SPANS_PER_TRACE, spans - first)):
            if index % 10 == 0:
                history = []
            clock += rng.randrange(1_000_000, 50_000_000)
            rows.append(_span(rng, trace, clock, index, history))
        if one_trace:
            if not first:
                whole, root = trace, rows[0]
            rows[0]["parentSpanId"] = root["spanId"] if first else ""
            for row in rows:
                row["traceId"] = whole
        scoped = {"scope": {"name": "bench", "version": "1"}, "spans": rows}
        request = {"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]}
        yield json.dumps(request, separators=(",", ":")).encode() + b"\n"


def write(path: Path, spans: int, *, one_trace: bool = False) -> int:
    """Write the file; returns its size in bytes."""
    size = 0
    with path.open("wb") as out:
        for line in lines(spans, one_trace=one_trace):
            size += out.write(line)
    return size


if __name__ == "__main__":
    count, target = int(sys.argv[1]), Path(sys.argv[2])
    total = write(target, count, one_trace=sys.argv[3:] == ["one"])
    print(f"{count:,} spans, {total / 1e6:.1f} MB, {total / count:.0f} bytes a span")
