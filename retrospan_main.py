"""The command ``retrospan``: catches ctrl+c from the first line on, also while the rest is still being imported.

It stands alone, since a package's own ``__init__`` would run before anything in it could catch an interrupt.
"""

from __future__ import annotations


def main() -> int:
    """Run the command line; returns the exit code, 130 for an interrupt."""
    try:
        from debugger.cli import main as run

        return run()
    except KeyboardInterrupt:
        return 130
