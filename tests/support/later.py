"""Modules that take seconds to import, imported by the first test that uses them and not by every worker."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """Stands for the module of this name: imported (3 s for an SDK) when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):
            raise AttributeError(attribute)  # pytest asks each name of a module what it is
        return getattr(import_module(self._name), attribute)
