"""The path language of edits: ``PATH=VALUE`` into patches of requests, outcomes and memory.

    [span:ID. | agent:NAME. | tool:NAME.] TARGET

Without a prefix, a target means the model call at the cut, or the first one of the trace. docs/replaying.md lists the
targets; ``TARGETS`` is that list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from runtime.journal import Edits, MemoryPatch, RequestPatch, edited_message
from runtime.messages import (
    Call,
    ErrorInfo,
    Json,
    Message,
    Outcome,
    TextPart,
    ToolDefinition,
    message_from_json,
    message_to_json,
    read_json,
    text_of,
)
from runtime.trace import outcome_of

from ..errors import EditError
from .model import Edit, ReplayJob
from .paths import nearby, paths_of, shortened, split, tool_paths
from .recording import Recording

TARGETS: Final = (
    "system", "messages[N]", "messages[N].text", "messages[+]", "model", "params.NAME", "tools.NAME",
    "tools.NAME.description", "tools.NAME.parameters", "schema", "answer", "answer.text", "result", "error",
    "memory.KEY", "next",
)  # fmt: skip
"""All targets of a path."""

_MESSAGE: Final = re.compile(r"messages\[(-?[0-9]{1,9}|\+)\](\.text)?")


def read_set(text: str) -> Edit:
    """The edit of ``--set PATH=VALUE``. The value is JSON where it reads as such, else text.

    Raises: EditError: there is no ``=``, or nothing before it.
    """
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise EditError(
            f"--set {shortened(text)!r} is not PATH=VALUE", hint="such as --set model=gpt-5 or --set system='Be brief.'"
        )
    try:
        return Edit(path=path.strip(), value=read_json(value))
    except ValueError:
        return Edit(path=path.strip(), value=value)
    except RecursionError as fault:
        raise EditError(f"--set {shortened(path)!r}: the JSON is nested too deep") from fault


def read_edits(text: str, source: str) -> tuple[Edit, ...]:
    """The edits of a file: an object of paths and values, or a list of ``{"path", "value"}``.

    Raises: EditError: it is neither.
    """
    try:
        data = read_json(text)
    except ValueError as fault:
        raise EditError(f"{source} is not JSON: {fault}") from fault
    except RecursionError as fault:
        raise EditError(f"{source}: the JSON is nested too deep") from fault
    if isinstance(data, Mapping) and isinstance(data.get("edits"), list):
        data = data["edits"]
    if isinstance(data, Mapping):
        return tuple(Edit(path=path, value=value) for path, value in data.items())
    if isinstance(data, list) and all(isinstance(each, Mapping) and isinstance(each.get("path"), str) for each in data):
        return tuple(Edit(path=each["path"], value=each.get("value")) for each in data)
    raise EditError(f"{source} holds no edits", hint='write {"PATH": VALUE, …} or [{"path": …, "value": …}, …]')


@dataclass(slots=True)
class _Made:
    """What the edits come to."""

    requests: list[RequestPatch]
    outcomes: dict[str, Outcome]
    memory: list[MemoryPatch]
    inputs: list[Json]
    shown: list[Edit]
    uses: list[str]


def resolve(recording: Recording, job: ReplayJob, *, is_rebuilt: bool) -> tuple[Edits, tuple[Edit, ...]]:
    """The patches of a job's edits, and the edits with what stood there before.

    Args:
        recording: what is replayed; for a rebuilt agent, completed.
        job: its edits and its cut.
        is_rebuilt: no code runs that would read memory.

    Raises: EditError: a path names nothing; says which paths there are nearby.
    """
    made = _Made([], {}, [], [], [], [])
    for edit in job.edits:
        _Resolver(recording, job, edit, made, is_rebuilt).resolve()
    edits = Edits(
        requests=tuple(made.requests),
        outcomes=made.outcomes,
        memory=tuple(made.memory),
        inputs=tuple(made.inputs),
        uses=tuple(made.uses),
    )
    return edits, tuple(made.shown)


class _Resolver:
    """One edit."""

    def __init__(self, recording: Recording, job: ReplayJob, edit: Edit, made: _Made, is_rebuilt: bool) -> None:
        self._recording = recording
        self._job = job
        self._edit = edit
        self._made = made
        self._is_rebuilt = is_rebuilt
        self._by, self._name, self._target = split(edit.path)
        self._name = re.sub(r"\\(.)", r"\1", self._name)

    def resolve(self) -> None:
        target = self._target
        if target in ("result", "error", "answer", "answer.text"):
            self._outcome()
        elif target == "next" or (target == "messages[+]" and not self._by and self._is_past_the_end()):
            self._next()
        elif target.startswith("memory."):
            self._memory(target.removeprefix("memory."))
        elif target == "system" or _MESSAGE.fullmatch(target):
            self._message()
        else:
            self._part()

    # Where

    def _since(self) -> int:
        """The time of the cut; 0 for the whole trace."""
        at = self._recording.time_of(self._job.span_id, self._job.anchor) if self._job.span_id else None
        return at or 0

    def _span(self) -> Call:
        """The call that ``span:ID`` names."""
        known = [call for call in self._recording.calls if call.span_id.startswith(self._name)]
        if len(known) != 1:
            what = "names several spans" if known else "names no span of the trace"
            kinds = ("tool",) if self._target == "result" else ("tool", "llm") if self._target == "error" else ("llm",)
            calls = [f"span:{call.span_id}" for call in known or self._recording.calls if call.kind in kinds]
            raise self._wrong(f"span:{shortened(self._name)} {what}", self._at(calls))
        return known[0]

    def _model_call(self) -> Call:
        """The model call whose request is meant."""
        if self._by == "span":
            call = self._span()
            if call.kind != "llm":
                paths = [f"span:{self._name}.{target}" for target in ("result", "error")]
                raise self._wrong(f"span:{self._name} is no model call, so it has no {self._target}", paths)
            return call
        since = self._since()
        after = [call for call in self._recording.calls if call.kind == "llm" and (call.start_unix_nano or 0) >= since]
        if self._by == "agent":
            after = [call for call in after if self._agent_of(call) == self._name]
            if not after:
                agents = [f"agent:{c.agent_name}" for c in self._recording.calls if c.kind == "agent" and c.agent_name]
                raise self._wrong(f"agent {self._name!r} asks no model here", self._at(agents))
        if not after:
            raise self._wrong("no model call follows the cut", ["answer.text", "result"])
        return after[0]

    def _agent_of(self, call: Call) -> str:
        return self._frame_of(call)[1]

    def _frame_of(self, call: Call) -> tuple[str, str]:
        """Call id and agent of the frame that the call belongs to."""
        for frame in self._recording.whole.frames.values():
            for _, entry in frame.journal:
                if any(outcome.span_id == call.span_id for outcome in entry.outcomes):
                    return frame.call_id, frame.agent_id
        return "root", ""

    # What

    def _message(self) -> None:
        call = self._model_call()
        messages = call.input_messages or ()
        if self._target == "system":
            index = next((i for i, message in enumerate(messages) if message.role in ("system", "developer")), None)
            if index is None:
                raise self._wrong("the request has no system text", self._paths(call))
        else:
            found = _MESSAGE.fullmatch(self._target)
            assert found is not None
            if found[1] == "+":
                self._add(call, messages)
                return
            index = int(found[1]) + (len(messages) if found[1].startswith("-") else 0)
            if not 0 <= index < len(messages):
                raise self._wrong(f"the request has {len(messages)} messages", self._paths(call))
        old = messages[index]
        value = self._edit.value
        whole = self._target.endswith("]") and (value is None or isinstance(value, Mapping | list))
        if whole and value is not None:
            self._check_message()
        new = edited_message(old, value if whole or value is None else self._text())
        self._patch("message", call, index=index, digest=old.digest, value=new)
        self._show(message_to_json(old) if whole else text_of([old]))

    def _is_past_the_end(self) -> bool:
        """Whether the cut lies after the last model call."""
        llms = [call for call in self._recording.calls if call.kind == "llm"]
        job = self._job
        if job.span_id is None or not llms:
            return False
        since = self._since()
        is_last = job.anchor == "after" and llms[-1].span_id == job.span_id
        return is_last or all((call.start_unix_nano or 0) < since for call in llms)

    def _next(self) -> None:
        """Go on after the recorded end."""
        if not self._is_rebuilt:
            raise EditError(f"{self._edit.path}: a program ends by itself, and takes no message after that",
                            hint="--rebuild runs the agent that the trace implies, which can go on")  # fmt: skip
        last = next((call for call in reversed(self._recording.calls) if call.kind == "llm"), None)
        if last is None or not last.output_messages or not last.input_messages:
            raise self._wrong("the last model call has no recorded answer to go on from", ["messages[+]"])
        self._made.uses.append(f"input {len(self._made.inputs)}")
        self._made.inputs.append(message_to_json(self._new_message()))
        self._show(None)

    def _new_message(self) -> Message:
        value = self._edit.value
        if not isinstance(value, Mapping):
            return Message("user", (TextPart(self._text()),))
        self._check_message()
        return message_from_json(value)

    def _check_message(self) -> None:
        """Raises: EditError: the value is JSON, and no message."""
        value = self._edit.value
        is_one = isinstance(value, Mapping) and isinstance(value.get("role"), str)
        if not is_one or not (isinstance(value.get("parts"), list) or isinstance(value.get("content"), str | list)):
            raise EditError(
                f"{shortened(self._edit.path)}: the value is no message",
                hint='write text, or {"role": "user", "parts": [{"type": "text", "content": "…"}]}',
            )

    def _add(self, call: Call, messages: Sequence[Message]) -> None:
        new = self._new_message()
        if not messages:
            raise self._wrong("the messages of this call were not recorded", [])
        last = len(messages) - 1
        self._patch("add", call, index=last, digest=messages[last].digest, value=message_to_json(new))
        self._show(None)

    def _part(self) -> None:
        call, target, value = self._model_call(), self._target, self._edit.value
        agent = self._agent_of(call)
        if target == "model":
            self._patch("model", call, agent_id=agent, value=self._text())
            self._show(call.model)
        elif target == "schema":
            if value is not None and not isinstance(value, Mapping):
                raise EditError(f"{self._edit.path}: a schema is a JSON object")
            self._patch("schema", call, agent_id=agent, value=value)
            self._show(call.output_schema)
        elif target.startswith("params.") and len(target) > len("params."):
            name = target.removeprefix("params.")
            self._patch("parameter", call, agent_id=agent, name=name, value=value)
            self._show(call.parameters.get(name))
        elif target.startswith("tools."):
            self._tool(call, agent, target.removeprefix("tools."))
        else:
            raise self._wrong("there is no such part of a request", self._paths(call))

    def _tool(self, call: Call, agent: str, rest: str) -> None:
        known = {tool.name: tool for tool in call.tool_definitions or ()}
        name, _, field = (rest, "", "") if rest in known else rest.rpartition(".")
        value = self._edit.value
        if field in ("description", "parameters") and name in known:
            old = known[name]
            text = self._text() if field == "description" else value
            # The patch is the whole tool, so it must hold what an earlier edit has made of the other field.
            earlier = [patch for patch in self._made.requests if (patch.kind, patch.name) == ("tool", name)]
            now = earlier[-1].value if earlier and earlier[-1].agent_id == agent else old.to_json()
            value = {**(now or old.to_json()), field: text}
            self._show(getattr(old, field))
        elif not field and (name in known or isinstance(value, Mapping)):
            value = None if value is None else {**ToolDefinition.from_json(value).to_json(), "name": name or rest}
            self._show(known[name].to_json() if name in known else None)
        else:
            raise self._wrong("no such tool is offered here", [path for path in self._paths(call) if "tools." in path])
        self._patch("tool", call, agent_id=agent, name=name or rest, value=value)

    def _outcome(self) -> None:
        call = self._answered()
        recorded = outcome_of(call)
        value = self._edit.value
        if self._target == "error":
            info = ErrorInfo(value.get("type", "Error"), value["message"]) if _is_error(value) else None
            changed = replace(recorded, status="error", output=None, error=info or ErrorInfo("Error", self._text()))
            self._show(recorded.error.to_json() if recorded.error else None)
        elif self._target == "result":
            changed = replace(recorded, status="ok", output=value, error=None)
            self._show(recorded.output if recorded.error is None else recorded.error.to_json())
        else:
            if isinstance(value, Mapping):
                self._check_message()
            old = call.output_messages[0] if call.output_messages else Message("assistant", ())
            new = edited_message(old, value if isinstance(value, Mapping) else self._text())
            changed = replace(recorded, status="ok", output=new, error=None)
            self._show(text_of([old]))
        earlier = self._made.outcomes.get(call.span_id)
        if earlier is not None and earlier.status != changed.status:
            raise EditError(f"{shortened(self._edit.path)}: another edit says otherwise of the same call",
                            hint="a call has either a result or an error; change one of them")  # fmt: skip
        self._made.uses.append(f"outcome {call.span_id}")
        self._made.outcomes[call.span_id] = replace(changed, lost=None)

    def _answered(self) -> Call:
        """The call whose outcome is meant: a model call for an answer, a tool for a result, either for an error."""
        kinds = {"result": ("tool",), "error": ("tool", "llm")}.get(self._target, ("llm",))
        if self._by == "span":
            call = self._span()
            if call.kind in kinds:
                return call
            paths = ["result", "error"] if call.kind == "tool" else list(paths_of(call)) if call.kind == "llm" else []
            what = f"span:{self._name} is a call of another kind"
            raise self._wrong(what, [f"span:{self._name}.{path}" for path in paths])
        since = self._since()
        at = next((call for call in self._recording.calls if call.span_id == self._job.span_id), None)
        if not self._by and at is not None and at.kind in kinds:
            return at
        after = [c for c in self._recording.calls if c.kind in kinds and (c.start_unix_nano or 0) >= since]
        if self._by == "tool":
            after = [call for call in after if call.tool_name == self._name]
        elif self._by == "agent":
            after = [call for call in after if self._agent_of(call) == self._name]
        if not after:
            known = tool_paths(self._recording.calls) if "tool" in kinds else ["messages[0].text"]
            raise self._wrong(
                "nothing recorded here has one", [p for p in known if p.endswith(self._target)] or TARGETS
            )
        return after[0]

    def _memory(self, key: str) -> None:
        if self._is_rebuilt:
            raise EditError(f"{shortened(self._edit.path)}: a rebuilt agent has no code that reads memory",
                            hint="edit a message instead, such as messages[0].text")  # fmt: skip
        call = self._model_call()
        scope, _ = self._frame_of(call)
        frame = self._recording.whole.frames.get(scope)
        since = self._since() or None
        self._made.uses.append(f"memory {len(self._made.memory)}")
        self._made.memory.append(MemoryPatch(scope=scope, since_unix_nano=since, key=key, value=self._edit.value))
        self._show(frame.memory.get(key) if frame else None)

    # Help

    def _text(self) -> str:
        value = self._edit.value
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def _patch(self, kind: Any, call: Call, **fields: Any) -> None:
        since = call.start_unix_nano if self._by == "span" or self._job.span_id else None
        self._made.uses.append(f"request {len(self._made.requests)}")
        self._made.requests.append(RequestPatch(kind=kind, since_unix_nano=since, **fields))

    def _show(self, was: Json) -> None:
        self._made.shown.append(replace(self._edit, was=was))

    def _paths(self, call: Call) -> list[str]:
        if self._by:
            return [f"{self._by}:{self._name}.{path}" for path in paths_of(call)]
        return [*paths_of(call), *tool_paths(self._recording.calls)]

    def _wrong(self, why: str, valid: Iterable[str]) -> EditError:
        """The error of a path, with the valid ones that are nearest to it."""
        return EditError(f"{shortened(self._edit.path)}: {why}", hint=nearby(self._edit.path, valid))

    def _at(self, prefixes: Iterable[str]) -> list[str]:
        """Whole paths with these prefixes, for a prefix that names nothing."""
        target = self._target if self._target in TARGETS or self._target.startswith("messages[") else "system"
        return [f"{prefix}.{target}" for prefix in prefixes]


def _is_error(value: Json) -> bool:
    return (
        isinstance(value, Mapping) and isinstance(value.get("message"), str) and isinstance(value.get("type", ""), str)
    )
