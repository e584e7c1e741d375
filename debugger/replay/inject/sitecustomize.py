"""Loaded by the interpreter of a program behind the endpoint, before the program: puts the adapters in place.

The program keeps its own ``sitecustomize``, if it has one. Works with every Python from 3.9 on, and needs nothing but
the standard library, since the program lives in an environment of its own.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys


def _load_own() -> None:
    """Run the ``sitecustomize`` that this one hides."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as cheap as it can be
    for folder in sys.path:
        path = os.path.join(folder or os.curdir, "sitecustomize.py")  # noqa: PTH118
        if os.path.abspath(folder or os.curdir) == here or not os.path.isfile(path):  # noqa: PTH100, PTH113
            continue
        spec = importlib.util.spec_from_file_location("sitecustomize", path)
        if spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            sys.modules["sitecustomize"] = module
            spec.loader.exec_module(module)
        return


if "RETROSPAN_DOOR" in os.environ:
    try:
        importlib.import_module("retrospan_inject").start()
    except Exception as fault:  # noqa: BLE001 - the program must not run unguarded, and must say why
        sys.stderr.write(
            f"retrospan: the adapters could not be loaded ({type(fault).__name__}: {fault}), so tools might really "
            "run; the program is not started\n"
        )
        sys.stderr.flush()
        os._exit(70)
_load_own()
