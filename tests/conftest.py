"""All tests run in the same surroundings, whatever is set outside or by the runner's workers."""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# The same examples in every run, so that a change is judged by what it changed; a longer search is a run of its own
# with --hypothesis-profile=search.
settings.register_profile("same", derandomize=True, deadline=None, max_examples=15)
settings.register_profile("search", deadline=None, max_examples=2_000)
settings.load_profile("same")

# A shell starts what it puts into the background deaf to ctrl+c, and all that is started from there would be as well.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Where compiled modules may not be written, every worker and every child process would compile all of ours again:
# 0.35 s for each command that a test starts.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

_OUTSIDE = ("COLUMNS", "LINES", "RETROSPAN_ENV", "OTEL_SDK_DISABLED", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME")

_WITH_SDKS = ("runtime/models/", "replay/endpoint/test_sdks.py", "replay/test_redact.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that ask through the SDKs come first, so the first worker gets them all and alone imports these (4 s)."""
    folder = Path(__file__).parent
    items.sort(key=lambda item: not item.path.relative_to(folder).as_posix().startswith(_WITH_SDKS))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """One worker compiles a module of tests, and the others read what it wrote."""
    if not isinstance(collector, pytest.Module):
        return (yield)
    with collector.path.open("rb") as module:
        fcntl.flock(module, fcntl.LOCK_EX)
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Without a search for garbage, which would take a tenth of the time: much is made, next to nothing dropped.

    It is not frozen afterwards: Hypothesis asks often how much is frozen, and the answer is counted one by one.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Widths, modes and tracing are what the test says, else the defaults."""
    for name in _OUTSIDE:
        monkeypatch.delenv(name, raising=False)
    # Nobody's own library is touched: a test that wants one names a folder.
    monkeypatch.setenv("RETROSPAN_HOME", str(Path(os.devnull, "home")))
