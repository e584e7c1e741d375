"""The narrow facts of a foreign span while several families fill them in: the first one to know a thing wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from runtime.messages import CallKind

from ._view import Promoted, count, text

_FRAMEWORKS: Final = frozenset(
    (
        "strands-agents",
        "langgraph",
        "langchain",
        "gcp.vertex.agent",
        "autogen",
        "crewai",
        "agno",
        "smolagents",
        "llamaindex",
        "llama_index",
        "pydantic-ai",
        "pydantic_ai",
        "microsoft.agent_framework",
    )
)
"""Written by some producers where the provider belongs; a framework answers nothing."""
_MAX_NANO: Final = 2**63


class Names(NamedTuple):
    """A table of keys: for each fact the attributes that may hold it, best first."""

    agent_name: tuple[str, ...] = ()
    provider: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    tool_name: tuple[str, ...] = ()
    input_tokens: tuple[str, ...] = ()
    output_tokens: tuple[str, ...] = ()
    cost_usd: tuple[str, ...] = ()

    @property
    def keys(self) -> frozenset[str]:
        """All of them."""
        return frozenset().union(*self)


class Facts:
    """What is known of a span so far. ``kind`` None means that no family has said what it is."""

    __slots__ = (
        "agent_name",
        "cost_nano_usd",
        "error_type",
        "family",
        "input_tokens",
        "kind",
        "model",
        "output_tokens",
        "provider",
        "tool_name",
    )

    def __init__(self, error_type: str | None = None) -> None:
        self.kind: CallKind | None = None
        self.family: str | None = None
        self.error_type = error_type
        self.agent_name: str | None = None
        self.provider: str | None = None
        self.model: str | None = None
        self.tool_name: str | None = None
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.cost_nano_usd: int | None = None

    def fill(self, attributes: Mapping[str, Any], names: Names) -> None:
        """Take what is missing from the attributes of a table."""
        if self.agent_name is None:
            self.agent_name = first_text(attributes, names.agent_name)
        if self.provider is None:
            self.provider = first_provider(attributes, names.provider)
        if self.model is None:
            self.model = first_text(attributes, names.model)
        if self.tool_name is None:
            self.tool_name = first_text(attributes, names.tool_name)
        if self.input_tokens is None:
            self.input_tokens = first_whole(attributes, names.input_tokens)
        if self.output_tokens is None:
            self.output_tokens = first_whole(attributes, names.output_tokens)
        if self.cost_nano_usd is None and names.cost_usd:
            self.cost_nano_usd = first(attributes, names.cost_usd, nano_usd)

    def promoted(self) -> Promoted:
        """The facts as the store keeps them."""
        return Promoted(
            self.kind or "other",
            self.family,
            self.error_type,
            self.agent_name,
            self.provider,
            self.model,
            self.tool_name,
            self.input_tokens,
            self.output_tokens,
            self.cost_nano_usd,
        )


def first(attributes: Mapping[str, Any], names: tuple[str, ...], read: Callable[[Any], Any]) -> Any:
    """The first attribute that holds something of a kind."""
    for key in names:  # most are absent, which is asked first: this runs for each span of a load
        if key in attributes and (value := read(attributes[key])) is not None:
            return value
    return None


def first_text(attributes: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The first attribute that is text."""
    for key in names:
        if key in attributes and (value := text(attributes[key])) is not None:
            return value
    return None


def first_whole(attributes: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """The first attribute that is a whole number."""
    for key in names:
        if key in attributes and (value := count(attributes[key])) is not None:
            return value
    return None


def provider_of(value: Any) -> str | None:
    """A provider's name in small letters, so that producers agree on it; None for the name of a framework."""
    if type(value) is not str or not value:
        return None
    lower = value.lower()
    return None if lower in _FRAMEWORKS else lower


def first_provider(attributes: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The first attribute that names a provider."""
    for key in names:
        if key in attributes and (value := provider_of(attributes[key])) is not None:
            return value
    return None


def nano_usd(value: Any) -> int | None:
    """Dollars as a whole number of billionths; None for what is no amount of money."""
    if type(value) not in (int, float) or value != value or not 0 <= value < _MAX_NANO / 1_000_000_000:
        return None
    return round(float(value) * 1_000_000_000)
