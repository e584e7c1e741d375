"""Models: the protocol; a scripted and a fault-injecting one, both shipped; OpenAI-compatible ones and Anthropic's.

The SDKs of the last two are extras and are imported when a model is first asked.
"""

from ._anthropic import AnthropicModel
from ._collect import collect, deltas_of, stream_of
from ._faults import Fault, FaultPlan, FaultyModel
from ._openai import OpenAIModel
from ._prices import Prices
from ._protocol import Delta, Done, Model, ReasoningDelta, Reply, StreamingModel, TextDelta, ToolCallDelta
from ._scripted import ScriptedModel, Turn, call, say

__all__ = [
    "AnthropicModel",
    "Delta",
    "Done",
    "Fault",
    "FaultPlan",
    "FaultyModel",
    "Model",
    "OpenAIModel",
    "Prices",
    "ReasoningDelta",
    "Reply",
    "ScriptedModel",
    "StreamingModel",
    "TextDelta",
    "ToolCallDelta",
    "Turn",
    "call",
    "collect",
    "deltas_of",
    "say",
    "stream_of",
]
