"""Messages and tool definitions as the GenAI conventions write them: JSON text or native lists, whole or cut off."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from runtime.messages import Message, TextPart, ToolDefinition, message_from_json, part_from_json

from ._cut import mend_cut_json


class Content:
    """Reads the content attributes of one span, and remembers why some of it cannot be used again."""

    def __init__(self) -> None:
        self.lost: str | None = None

    def _value(self, attributes: Mapping[str, Any], key: str) -> Any:
        """The attribute's value: JSON text parsed, cut JSON as far as it goes, other text as text."""
        value = attributes.get(key)
        if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
            return value
        try:
            return json.loads(value)
        except RecursionError:
            self._lose(f"{key} is nested too deeply")
            return value
        except ValueError:
            mended = mend_cut_json(value)
            if mended is None:
                self._lose(f"{key} is not JSON")
                return value
            self._lose(f"{key} is cut off after {len(value)} characters")
            return mended

    def _lose(self, reason: str) -> None:
        self.lost = self.lost or reason

    def messages(self, attributes: Mapping[str, Any], key: str, role: str) -> tuple[Message, ...] | None:
        """The messages of an attribute; plain text is one message of the given role. None where it is absent."""
        value = self._value(attributes, key)
        if value is None:
            return None
        if isinstance(value, str):
            return (Message(role, (TextPart(value),)),)
        items = value if isinstance(value, list) else [value]
        return tuple(message_from_json(item) for item in items)

    def system(self, attributes: Mapping[str, Any], key: str) -> Message | None:
        """System instructions: a list of parts, or text."""
        value = self._value(attributes, key)
        if value is None or value == []:
            return None
        items = value if isinstance(value, list) else [value]
        return Message("system", tuple(part_from_json(item) for item in items))

    def tool_definitions(self, attributes: Mapping[str, Any], key: str) -> tuple[ToolDefinition, ...] | None:
        """The tools that were offered. A cut list is not used: a tool less is another request."""
        before = self.lost
        value = self._value(attributes, key)
        if self.lost is not before or not isinstance(value, list):
            return None
        items = (json_object(item) for item in value)
        return tuple(ToolDefinition.from_json(item) for item in items)


def json_object(value: Any) -> Any:
    """A definition that is itself JSON text (native lists of texts) as an object."""
    if isinstance(value, str) and value[:1] == "{":
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
