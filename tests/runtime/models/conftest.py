"""The key that the adapters' tests use, in the environment of each test."""

from __future__ import annotations

import pytest

from .backends import KEY, KEY_ENV


@pytest.fixture(autouse=True)
def key_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_ENV, KEY)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "OPENAI_LOG", "ANTHROPIC_LOG"):
        monkeypatch.delenv(name, raising=False)
