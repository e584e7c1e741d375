"""Objects of provider SDKs that a producer printed with Python's ``repr`` where their content belongs."""

from __future__ import annotations

import ast
from typing import Any, Final

_CLASSES: Final = ("ResponseFunctionToolCall(", "ResponseReasoningItem(")
"""Of the OpenAI SDK, printed by opentelemetry-instrumentation-openai-agents-v2; other text that looks so stays text."""


def is_printed(value: str) -> bool:
    """Whether the text begins as one of the known objects does."""
    return value.startswith(_CLASSES)


def printed_object(value: str) -> dict[str, Any] | None:
    """The fields of a printed object, inner ones likewise; None where the text is not one whole such object."""
    try:
        read = _value(ast.parse(value, mode="eval").body)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
        return {word.arg: _value(word.value) for word in node.keywords if word.arg is not None}
    if isinstance(node, ast.List):
        return [_value(item) for item in node.elts]
    return ast.literal_eval(node)
