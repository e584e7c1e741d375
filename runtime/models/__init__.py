"""Models: the protocol, and a scripted one that is shipped."""

from ._protocol import Model, Reply
from ._scripted import ScriptedModel, Turn, call, say

__all__ = ["Model", "Reply", "ScriptedModel", "Turn", "call", "say"]
