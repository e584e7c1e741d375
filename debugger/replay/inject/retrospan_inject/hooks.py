"""Puts an adapter into a framework when the program imports it."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .door import Door

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Patch = Callable[[ModuleType, Door], None]


def install(door: Door, *, answers: bool) -> None:
    """Watch for the modules that adapters reach into; while a program is recorded, only for MCP's."""
    from . import langchain, mcp, openai_agents, pydantic_ai

    patches: dict[str, Patch] = dict(mcp.PATCHES)
    if answers:
        patches = {**patches, **langchain.PATCHES, **openai_agents.PATCHES, **pydantic_ai.PATCHES}
    sys.meta_path.insert(0, _Finder(door, patches))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds a watched module as it would be found without us, and patches it once it has run."""

    def __init__(self, door: Door, patches: dict[str, Patch]) -> None:
        self._door = door
        self._patches = patches
        self._busy: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's spec with a loader that patches; None for all modules that are not watched."""
        if name not in self._patches or name in self._busy:
            return None
        self._busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._busy.discard(name)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            loader: Any = spec.loader
            run = loader.exec_module
            patch = self._patches[name]

            def exec_module(module: ModuleType) -> None:
                run(module)
                try:
                    patch(module, self._door)
                except Exception as fault:
                    # Without its adapter the framework would really run the tools.
                    raise ImportError(
                        f"retrospan: no adapter for this version of {name} ({type(fault).__name__}: {fault}); "
                        "--tools live --run-tools goes without"
                    ) from fault

            loader.exec_module = exec_module
        return spec
