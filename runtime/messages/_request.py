"""What an agent asks for: a model turn, a tool, or a value that changes from run to run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ._json import Json, JsonObject, canonical_json, parse_json_text
from ._message import Message

Effect: TypeAlias = Literal["pure", "idempotent", "reversible", "committed"]
"""What a call of a tool does to the world: nothing; the same however often it is made; something that can be taken
back; something that cannot."""

HASH_VERSION = "sha256.1"
"""Algorithm and version of our content hashes; it leads each hash text, ``sha256.1:<64 hex digits>``."""


def _hash(form: Json) -> str:
    return f"{HASH_VERSION}:{hashlib.sha256(canonical_json(form)).hexdigest()}"


def _quoted(digests: list[str]) -> bytes:
    text = '","'.join(digests)
    return f'"{text}"'.encode() if text else b""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as the model sees it. ``parameters`` is a JSON schema."""

    name: str
    description: str | None = None
    parameters: JsonObject | None = None
    _digest: str | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of name, description and parameters."""
        if self._digest is None:
            form = [self.name, self.description, self.parameters]
            object.__setattr__(self, "_digest", hashlib.sha256(canonical_json(form)).hexdigest())
        assert self._digest is not None
        return self._digest

    def to_json(self) -> dict[str, Any]:
        """The definition in the shape of ``gen_ai.tool.definitions``."""
        return {
            "type": "function",
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }

    @classmethod
    def from_json(cls, data: Json) -> ToolDefinition:
        """A definition in our shape, or nested under ``function`` as OpenAI writes it. Never raises."""
        if not isinstance(data, Mapping):
            return cls(str(data))
        inner = data.get("function")
        data = inner if isinstance(inner, Mapping) else data
        description, parameters = data.get("description"), data.get("parameters")
        return cls(
            str(data.get("name", "")),
            description if isinstance(description, str) else None,
            parameters if isinstance(parameters, Mapping) else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A model turn. Hashed: messages, tools, output schema, model and provider; compared only: parameters."""

    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] | None = ()
    """None where a recording does not say which tools were offered."""
    output_schema: JsonObject | None = None
    model: str | None = None
    provider: str | None = None
    parameters: JsonObject = field(default_factory=dict)
    """Sampling parameters and tool choice: reported when they differ, but they make no miss."""
    api: str | None = field(default=None, compare=False)
    """The protocol that it went by where a provider has several (``responses``); says how to ask again, not what."""
    _hash: str | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def content_hash(self) -> str:
        """``sha256.1:<hex>`` over the digests of the parts, so that a miss can name the part that differs."""
        if self._hash is None:
            # Canonical JSON of [kind, digests, digests, schema, model, provider], joined by hand: hex digits need no
            # escaping, and a long conversation has hundreds of digests.
            messages = _quoted([message._digest or message.digest for message in self.messages])
            tools = _quoted([tool._digest or tool.digest for tool in self.tools or ()])
            others = canonical_json([self.output_schema, self.model, self.provider])[1:]
            form = b'["prompt",[' + messages + b"],[" + tools + b"]," + others
            object.__setattr__(self, "_hash", f"{HASH_VERSION}:{hashlib.sha256(form).hexdigest()}")
        assert self._hash is not None
        return self._hash


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A tool call with its validated arguments."""

    name: str
    arguments: Json
    _hash: str | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def content_hash(self) -> str:
        """``sha256.1:<hex>`` of name and arguments."""
        if self._hash is None:
            form = ["tool", self.name, parse_json_text(self.arguments)]
            object.__setattr__(self, "_hash", _hash(form))
        assert self._hash is not None
        return self._hash


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRequest:
    """Time, a random number or an id that an agent takes from the runtime."""

    name: str
    """``now``, ``random``, ``new_id`` or ``approval:<tool>``."""
    detail: Json = None
    """What it is about, where there is more than the kind."""

    @property
    def content_hash(self) -> str:
        """``sha256.1:<hex>`` of name and detail: the nth taking of a kind is answered by the nth recorded one."""
        return _hash(["value", self.name] if self.detail is None else ["value", self.name, self.detail])
