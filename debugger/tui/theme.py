"""The two themes. Widgets and style sheets name only variables; what they look like is decided here."""

from __future__ import annotations

from textual.theme import Theme

_DARK = {
    "dim": "#969eac",
    "kind-agent": "#c4a1ff",
    "kind-llm": "#7fb0ff",
    "kind-tool": "#e6b673",
    "kind-retriever": "#5fd3bc",
    "kind-other": "#a6adba",
    "good": "#97d077",
    "bad": "#ff7385",
    "attention": "#f5c76b",
    "key": "#8fb8e8",
    "string": "#b5ceA8",
    "number": "#e3a983",
    "heading": "#f0f2f6",
    "system-text": "#aab2c0",
    "cursor": "#24304d",
    "cursor-blurred": "#262a33",
    "line": "#4a5160",
}

_LIGHT = {
    "dim": "#5c626d",
    "kind-agent": "#6d31c9",
    "kind-llm": "#1657c4",
    "kind-tool": "#8a5200",
    "kind-retriever": "#006b5e",
    "kind-other": "#565c66",
    "good": "#256b17",
    "bad": "#b8122b",
    "attention": "#7d5200",
    "key": "#1d4f8f",
    "string": "#2d6b2a",
    "number": "#8f4a12",
    "heading": "#14161b",
    "system-text": "#4b515c",
    "cursor": "#cfdfff",
    "cursor-blurred": "#e4e5e8",
    "line": "#b3b7bf",
}

DARK = Theme(
    name="retrospan-dark",
    primary="#7fb0ff",
    secondary="#c4a1ff",
    accent="#e6b673",
    warning="#f5c76b",
    error="#ff7385",
    success="#97d077",
    foreground="#d9dde5",
    background="#14161b",
    surface="#191c22",
    panel="#20242c",
    dark=True,
    variables=_DARK | {"scrollbar": "#2c313b", "scrollbar-background": "#14161b"},
)

LIGHT = Theme(
    name="retrospan-light",
    primary="#1657c4",
    secondary="#6d31c9",
    accent="#8a5200",
    warning="#7d5200",
    error="#b8122b",
    success="#256b17",
    foreground="#23262d",
    background="#fcfcfb",
    surface="#f5f5f3",
    panel="#ebebe8",
    dark=False,
    variables=_LIGHT | {"scrollbar": "#cfd1d6", "scrollbar-background": "#fcfcfb"},
)


def fallback_variables(*, dark: bool) -> dict[str, str]:
    """Our variables for a theme that is not ours."""
    return _DARK if dark else _LIGHT
