"""Content attributes of one span: JSON text or native lists, whole or cut off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.messages import Known, Message, ToolDefinition

from ._cut import mend_cut_json
from .shapes import decoded, messages_of, parts_of, tool_definitions_of


class Content:
    """Reads the content attributes of one span, and remembers why some of it cannot be used again."""

    def __init__(self, known: Known) -> None:
        self.lost: str | None = None
        self.known = known

    def value(self, attributes: Mapping[str, Any], key: str) -> Any:
        """The attribute's value: JSON text parsed, cut JSON as far as it goes, other text as text."""
        value = attributes.get(key)
        if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
            return value
        try:
            return self.known.read(value)
        except RecursionError:
            self.lose(f"{key} is nested too deeply")
            return value
        except ValueError:
            mended = mend_cut_json(value)
            if mended is None:
                self.lose(f"{key} is not JSON")
                return value
            self.lose(f"{key} is cut off after {len(value)} characters")
            return mended

    def lose(self, reason: str) -> None:
        """Say why the content cannot be used again; the first reason stays."""
        self.lost = self.lost or reason

    def messages(self, attributes: Mapping[str, Any], key: str, role: str) -> tuple[Message, ...] | None:
        """The messages of an attribute; plain text is one message of the given role. None where it is absent."""
        value = self.value(attributes, key)
        return None if value is None else self.messages_in(value, role)

    def messages_in(self, value: Any, role: str) -> tuple[Message, ...]:
        """The messages in a value of the span, shared with the other spans that hold them."""
        return messages_of(value, role, self.known)

    def system(self, attributes: Mapping[str, Any], key: str) -> Message | None:
        """System instructions: a list of parts, or text, which some producers write as JSON too."""
        value = decoded(self.value(attributes, key))
        if value is None or value == [] or value == "":
            return None
        return Message("system", tuple(parts_of(value)))

    def tool_definitions(self, attributes: Mapping[str, Any], key: str) -> tuple[ToolDefinition, ...] | None:
        """The tools that were offered. A cut list is not used: a tool less is another request."""
        before = self.lost
        value = self.value(attributes, key)
        if self.lost is not before or not isinstance(value, list):
            return None
        return tool_definitions_of(value)


def with_system(system: Message | None, messages: tuple[Message, ...] | None) -> tuple[Message, ...] | None:
    """The messages led by the system text, unless they begin with it already."""
    if system is None or (messages and messages[0].role == "system" and messages[0].parts == system.parts):
        return messages
    return (system, *(messages or ()))
