"""The command ``retrospan``: catches ctrl+c from the first line on, also while the rest is still being imported.

It stands alone, since a package's own ``__init__`` would run before anything in it could catch an interrupt.
"""

from __future__ import annotations


def main() -> int:
    """Run the command line; returns the exit code, 130 for an interrupt."""
    try:
        # msgspec takes datetime's C functions without a look at whether it got them: an interrupt in that import ended
        # the process with a segmentation fault later. Once loaded, nothing is left there that could be interrupted.
        import datetime  # noqa: F401

        from debugger.cli import main as run

        return run()
    except KeyboardInterrupt:
        return 130
