"""All tests run in the same surroundings, whatever is set outside or by the runner's workers."""

from __future__ import annotations

import pytest

_OUTSIDE = ("COLUMNS", "LINES", "RETROSPAN_ENV", "OTEL_SDK_DISABLED", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME")


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Widths, modes and tracing are what the test says, else the defaults."""
    for name in _OUTSIDE:
        monkeypatch.delenv(name, raising=False)
