"""Adapters inside a program: its tool calls are answered from the recording, its sockets are shut.

Standard library only, for every Python from 3.9 on: this code runs in the program's own environment.
"""

from __future__ import annotations

import json
import os


def start() -> None:
    """Put in place what ``RETROSPAN_DOOR`` asks for."""
    from . import functions, hooks, network
    from .door import Door

    settings = json.loads(os.environ["RETROSPAN_DOOR"])
    door = Door(settings["url"], settings["port"])
    if settings.get("block"):
        network.block(settings["port"])
    if settings.get("tools"):
        hooks.install(door, answers=settings["tools"] == "answer")
    if settings.get("functions"):
        functions.install(door, settings["functions"])
