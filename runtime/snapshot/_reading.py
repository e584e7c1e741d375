"""Reading snapshots: the pydantic models of the format, and the fold into flat frames.

Each frame is validated by itself in a loop, so depth costs no stack and every fault gets its path.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError
from pydantic.alias_generators import to_camel

from ..errors import SnapshotFormatError
from ..journal import AnyRequest, Journal, JournalEntry
from ..messages import (
    ErrorInfo,
    Json,
    Outcome,
    Request,
    ToolDefinition,
    ToolRequest,
    Usage,
    message_from_json,
)
from ._budget import Budget, UsageItem, UsageStats
from ._frame import MAX_DEPTH, VERSION, Frame, Note, Provenance, Snapshot

MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""Version -> function that makes the next version of it. Old snapshots stay readable for ever."""

_Model = TypeVar("_Model", bound=BaseModel)


def _text(value: Any) -> str:
    # pydantic's own check refuses lone surrogates, which JSON can hold.
    if not isinstance(value, str):
        raise ValueError("should be a text")
    return value


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("should be an object")
    for key in value:
        if not isinstance(key, str):
            raise ValueError(f"key {key!r} should be a text")
    return dict(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value in _ENDLESS:
        raise ValueError("should be a number")
    if int(value) != value:
        raise ValueError("should be a whole number")
    return int(value)


_ENDLESS = (float("inf"), float("-inf"))

Text = Annotated[str, PlainValidator(_text)]
Object = Annotated[dict[str, Any], PlainValidator(_object)]
Whole = Annotated[int, PlainValidator(_whole)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, alias_generator=to_camel)


class _Error(_Part):
    type: Text | None = None
    name: Text | None = None
    """The seed's word for the type."""
    message: Text = ""

    def made(self) -> ErrorInfo:
        return ErrorInfo(self.type if self.type is not None else self.name or "Error", self.message)


class _Outcome(_Part):
    status: Literal["ok", "error", "aborted"] = "ok"
    output: Any = None
    error: _Error | None = None
    trace_id: Text | None = None
    span_id: Text | None = None
    usage: Object | None = None
    start_unix_nano: Whole | None = None
    duration_ns: Whole | None = None
    lost: Text | None = None

    def made(self, output: Json) -> Outcome:
        return Outcome(
            status=self.status,
            output=output,
            error=None if self.error is None else self.error.made(),
            trace_id=self.trace_id,
            span_id=self.span_id,
            usage=Usage.from_json(self.usage),
            start_unix_nano=self.start_unix_nano,
            duration_ns=self.duration_ns,
            lost=self.lost,
        )


class _Request(_Part):
    kind: Literal["prompt", "tool"]
    messages: list[Any] = []
    tools: list[Any] | None = None
    output_schema: Object | None = None
    model: Text | None = None
    provider: Text | None = None
    parameters: Object = {}
    name: Text = ""
    arguments: Any = None

    def made(self) -> AnyRequest:
        if self.kind == "tool":
            return ToolRequest(name=self.name, arguments=self.arguments)
        return Request(
            messages=tuple(message_from_json(message) for message in self.messages),
            tools=None if self.tools is None else tuple(ToolDefinition.from_json(tool) for tool in self.tools),
            output_schema=self.output_schema,
            model=self.model,
            provider=self.provider,
            parameters=self.parameters,
        )


class _Entry(_Part):
    content_hash: Text
    output: Any = None
    error: Any = None
    outcomes: list[_Outcome] | None = None
    origin: _Outcome | None = None
    request: _Request | None = None

    def made(self) -> JournalEntry:
        if self.outcomes is not None:
            outcomes = [outcome.made(outcome.output) for outcome in self.outcomes]
        elif self.error is not None and "output" not in self.model_fields_set:
            outcomes = [Outcome(status="error", error=_error(self.error))]
        else:
            outcomes = [(self.origin or _Outcome()).made(self.output)]
        return JournalEntry(self.content_hash, outcomes, None if self.request is None else self.request.made())


class _Journal(_Part):
    prompt: dict[Text, _Entry] = {}
    tool: dict[Text, _Entry] = {}
    value: dict[Text, _Entry] = {}

    def made(self) -> Journal:
        maps = ({key: entry.made() for key, entry in m.items()} for m in (self.prompt, self.tool, self.value))
        return Journal(*maps)


class _State(_Part):
    status: Literal["running", "completed", "failed"]
    output: Any = None
    error: Any = None


class _Tokens(_Part):
    prompt: Whole = 0
    completion: Whole = 0
    total: Whole = 0


class _Item(_Part):
    type: Literal["model", "tool"]
    name: Text
    provider: Text | None = None
    unit: Text | None = None
    costs: dict[Text, Whole] = {}
    tokens: _Tokens = _Tokens()
    quantity: Whole = 0

    def made(self) -> UsageItem:
        tokens = self.tokens
        return UsageItem(
            self.type,
            self.name,
            self.provider,
            self.unit,
            dict(self.costs),
            tokens.prompt,
            tokens.completion,
            tokens.total,
            self.quantity,
        )


class _Usage(_Part):
    costs: dict[Text, Whole] = {}
    prompt_tokens: Whole = 0
    completion_tokens: Whole = 0
    total_tokens: Whole = 0
    call_count: Whole = 0
    items: list[_Item] = []

    def made(self) -> UsageStats:
        stats = UsageStats(
            dict(self.costs), self.prompt_tokens, self.completion_tokens, self.total_tokens, self.call_count
        )
        for item in (each.made() for each in self.items):
            known = stats.items.setdefault(item.key, item)
            if known is not item:
                known.merge(item)
        return stats


class _Budget(_Part):
    own: _Usage = _Usage()
    aggregate: _Usage = _Usage()


class _Note(_Part):
    level: Literal["exact", "inferred", "missing"]
    what: Text
    span_id: Text | None = None
    times: Whole = 1


class _Frame(_Part):
    call_id: Text
    agent_id: Text
    memory: Object
    memory_at_start: Object | None = None
    journal: _Journal = _Journal()
    children: Object = {}
    state: _State
    budget_state: _Budget = _Budget()
    input: Any = None
    generation: Whole = 0
    opened_in: Text | None = None
    fidelity: list[_Note] = []


class _Provenance(_Part):
    trace_id: Text
    span_id: Text | None = None
    anchor: Literal["before", "after"] | None = None
    source: Literal["dump", "restore"] = "dump"


class _Head(_Part):
    process_id: Text
    timestamp: Whole
    provenance: _Provenance
    root: Object
    metadata: Object | None = None


def read_snapshot(data: Json) -> Snapshot:
    """The snapshot in flat form; see ``snapshot_from_json``."""
    data = _current(data)
    faults: list[str] = []
    head = _validated(_Head, data, "", faults)
    root = data.get("root")
    frames = _frames(root, faults) if isinstance(root, Mapping) else {}
    if faults or head is None:
        raise SnapshotFormatError(tuple(faults))
    origin = head.provenance
    return Snapshot(
        process_id=head.process_id,
        timestamp=head.timestamp,
        provenance=Provenance(
            trace_id=origin.trace_id, span_id=origin.span_id, anchor=origin.anchor, source=origin.source
        ),
        root_id=next(iter(frames)),
        frames=frames,
        version=VERSION,
        metadata=head.metadata or {},
    )


def _current(data: Json) -> dict[str, Any]:
    """The data in the version of this program."""
    if not isinstance(data, Mapping):
        raise SnapshotFormatError(("a snapshot is a JSON object",))
    form = dict(data)
    version = form.get("version")
    if type(version) is not int:
        raise SnapshotFormatError((f"version: should be a whole number, not {_short(version)}",))
    if version > VERSION:
        raise SnapshotFormatError(
            (f"version: {version} is newer than {VERSION}, the newest that this program reads; update it",)
        )
    while version < VERSION:
        migrate = MIGRATIONS.get(version)
        if migrate is None:
            raise SnapshotFormatError((f"version: {version} cannot be read; this program knows 1 to {VERSION}",))
        form = migrate(form)
        version += 1
    return form


def _frames(root: Mapping[str, Any], faults: list[str]) -> dict[str, Frame]:
    frames: dict[str, Frame] = {}
    pending: list[tuple[Any, str, Frame | None, str | None, int]] = [(root, "root", None, None, 0)]
    while pending:
        form, path, parent, key, depth = pending.pop()
        if depth >= MAX_DEPTH:
            faults.append(f"{path}: frames are nested deeper than {MAX_DEPTH}")
            continue
        model = _validated(_Frame, form, path, faults)
        if model is None:
            children = form.get("children") if isinstance(form, Mapping) else None
            frame = None
        else:
            children = model.children
            frame = _made(model, None if parent is None else parent.call_id)
            if key is not None and key != frame.call_id:
                faults.append(f"{path}.callId: is {_short(frame.call_id)}, but its key is {_short(key)}")
            if frame.call_id in frames:
                faults.append(f"{path}.callId: {_short(frame.call_id)} is there twice")
            frames[frame.call_id] = frame
            if parent is not None:
                parent.children.append(frame.call_id)
            _check_keys(frame.journal, path, faults)
        if isinstance(children, Mapping):
            below = [
                (child, f"{path}.children[{_short(name)}]", frame, name, depth + 1) for name, child in children.items()
            ]
            pending.extend(reversed(below))
    return frames


def _check_keys(journal: Journal, path: str, faults: list[str]) -> None:
    for kind in ("prompt", "tool", "value"):
        for key, entry in journal.map(kind).items():
            if key != entry.content_hash:
                where = f"{path}.journal.{kind}[{_short(key)}].contentHash"
                faults.append(f"{where}: is {_short(entry.content_hash)}, not its key")


def _made(model: _Frame, parent_id: str | None) -> Frame:
    return Frame(
        call_id=model.call_id,
        agent_id=model.agent_id,
        parent_id=parent_id,
        memory=model.memory,
        memory_start=model.memory_at_start,
        journal=model.journal.made(),
        status=model.state.status,
        output=model.state.output,
        error=None if model.state.error is None else _error(model.state.error),
        budget=Budget(model.budget_state.own.made(), model.budget_state.aggregate.made()),
        input=model.input,
        generation=model.generation,
        opened_in=model.opened_in,
        fidelity=[Note(note.level, note.what, note.span_id, note.times) for note in model.fidelity],
    )


def _error(value: Json) -> ErrorInfo:
    """The seed leaves the form of errors open."""
    if isinstance(value, Mapping):
        name, message = value.get("type", value.get("name")), value.get("message")
        if isinstance(message, str):
            return ErrorInfo(name if isinstance(name, str) else "Error", message)
    return ErrorInfo("Error", value if isinstance(value, str) else json.dumps(value, default=str))


def _validated(model: type[_Model], form: Any, path: str, faults: list[str]) -> _Model | None:
    try:
        return model.model_validate(form)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_context=False, include_input=False):
            where = path
            for step in fault["loc"]:
                plain = isinstance(step, str) and step.isidentifier()
                where += (f".{step}" if where else str(step)) if plain else f"[{_short(step)}]"
            faults.append(f"{where or 'snapshot'}: {_sentence(fault['msg'])}")
        return None


def _sentence(message: str) -> str:
    message = message.removeprefix("Value error, ")
    return message[:1].lower() + message[1:]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:60] + "…" + text[-59:]
