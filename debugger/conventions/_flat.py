"""Flattened attributes: ``llm.input_messages.0.message.role`` and the like, back as lists and objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MAX_DEPTH = 16


def flat_items(attributes: Mapping[str, Any], prefix: str) -> dict[int, Any]:
    """What lies under ``prefix.N``: by N, in order; an object's keys are the rest of the names.

    Indices that are missing stay missing, so that a caller sees what an attribute limit has dropped.
    """
    tree: dict[str, Any] = {}
    start = len(prefix) + 1
    for key, value in attributes.items():
        if key.startswith(prefix) and key[len(prefix) : start] == ".":
            _put(tree, key[start:].split(".", _MAX_DEPTH), value)
    return {number: _listed(item) for number, item in sorted(_numbered(tree), key=lambda pair: pair[0])}


def _put(tree: dict[str, Any], path: list[str], value: Any) -> None:
    for step in path[:-1]:
        below = tree.get(step)
        if not isinstance(below, dict):
            below = tree[step] = {}
        tree = below
    if not isinstance(tree.get(path[-1]), dict):
        tree[path[-1]] = value


def _numbered(tree: dict[str, Any]) -> list[tuple[int, Any]]:
    return [(int(key), item) for key, item in tree.items() if key.isascii() and key.isdigit() and len(key) < 10]


def _listed(node: Any) -> Any:
    """The node with objects whose keys are all numbers as lists."""
    if not isinstance(node, dict):
        return node
    numbered = _numbered(node)
    if numbered and len(numbered) == len(node):
        return [_listed(item) for _, item in sorted(numbered, key=lambda pair: pair[0])]
    return {key: _listed(item) for key, item in node.items()}


def flat_object(attributes: Mapping[str, Any], prefix: str) -> Any:
    """What lies under ``prefix.KEY``: an object, or a list where all keys are numbers; None where there is nothing."""
    tree: dict[str, Any] = {}
    start = f"{prefix}."
    for key, value in attributes.items():
        if key.startswith(start):
            _put(tree, key[len(start) :].split(".", _MAX_DEPTH), value)
    return _listed(tree) if tree else None
