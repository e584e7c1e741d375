"""Retrospan, the desktop app: importers, store, analysis, replay, screens and the command line.

``runtime`` is a common name, so the sibling package is bound here by its place on disk: a user's own ``runtime.py``
or a PYTHONPATH
cannot take its place in this process. What cannot be helped: code that imported another ``runtime`` before.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def _bind_runtime() -> None:
    home = Path(__file__).resolve().parent.parent / "runtime"
    loaded = sys.modules.get("runtime")
    if loaded is not None and home in map(Path, getattr(loaded, "__path__", [])):
        return
    spec = importlib.util.spec_from_file_location(
        "runtime", home / "__init__.py", submodule_search_locations=[str(home)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"the package 'runtime' is missing beside {Path(__file__).parent}; reinstall retrospan")
    for name in [name for name in sys.modules if name == "runtime" or name.startswith("runtime.")]:
        del sys.modules[name]
    module = importlib.util.module_from_spec(spec)
    sys.modules["runtime"] = module
    spec.loader.exec_module(module)


_bind_runtime()
