"""The environment in which a program finds the endpoint instead of its provider.

Only variables are set, the ones that the providers' SDKs and the frameworks above them read; a program that names its
own base URL in its code is not reached by them, which the report says when nothing was asked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ...errors import ReplayError
from ..endpoint.server import VARIABLE, Endpoint

PLACEHOLDER: Final = "retrospan-replay"
"""Stands for a key where none may be used."""
INJECTED: Final = Path(__file__).resolve().parent.parent / "inject"
"""The private folder that a Python program loads its adapters from."""
_NODE: Final = INJECTED / "node" / "preload.cjs"
"""What a program of Node.js loads first."""

_OPENAI: Final = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
_ANTHROPIC: Final = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL")
_KEYS: Final = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
_KNOWN: Final = ("AZURE_OPENAI_ENDPOINT",)
"""Variables with an address of their own, that are turned to the endpoint where the user has set them."""
_QUIET: Final = {
    "OTEL_SDK_DISABLED": "true",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "TRACELOOP_TRACING_ENABLED": "false",
}
"""In a strict replay nothing is sent anywhere, and what instrumentations would send there is no news."""


def named_endpoints(words: Sequence[str]) -> dict[str, str]:
    """``NAME=URL`` or ``NAME`` of the command line: further variables whose endpoint is meant -> the real address.

    Raises: ReplayError: a word is neither, or names a variable that is not set.
    """
    out = {name: os.environ[name] for name in _KNOWN if os.environ.get(name)}
    for word in words:
        name, has_url, url = word.partition("=")
        if not name.replace("_", "").isalnum():
            raise ReplayError(f"--endpoint {word!r} is not VARIABLE=URL")
        url = url if has_url else os.environ.get(name, "")
        if not url:
            raise ReplayError(f"--endpoint {name}: the variable is not set", hint=f"write --endpoint {name}=URL")
        out[name] = url
    return out


def environment_for(
    endpoint: Endpoint, *, strict: bool, adapters: Mapping[str, object] | None, endpoints: Mapping[str, str]
) -> dict[str, str]:
    """The variables of the program.

    Args:
        endpoint: the running endpoint.
        strict: keys are replaced by a placeholder, and exporters are told to be quiet.
        adapters: the settings of the adapters of Python and Node.js programs; None loads none.
        endpoints: further variables, as ``named_endpoints`` gives them.
    """
    env = dict(os.environ)
    env |= dict.fromkeys(_OPENAI, f"{endpoint.url}/v1") | dict.fromkeys(_ANTHROPIC, endpoint.url)
    env |= {name: f"{endpoint.url}{VARIABLE}{name}" for name in endpoints}
    for name in ("NO_PROXY", "no_proxy"):
        env[name] = ",".join(filter(None, (env.get(name), "127.0.0.1")))
    if strict:
        env |= dict.fromkeys(_KEYS, PLACEHOLDER) | _QUIET
    else:
        for name in _KEYS:
            # SDKs refuse to start without one, also where the other provider is used.
            env.setdefault(name, PLACEHOLDER)
    if adapters is not None:
        env["RETROSPAN_DOOR"] = json.dumps({"url": endpoint.url, "port": endpoint.port, **adapters})
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(INJECTED), env.get("PYTHONPATH"))))
        # Node.js takes the words of the variable apart as a shell does, but for the quotes that it knows: double ones.
        preload = str(_NODE).replace("\\", "\\\\").replace('"', '\\"')
        env["NODE_OPTIONS"] = " ".join(filter(None, (env.get("NODE_OPTIONS"), f'--require "{preload}"')))
    return env
