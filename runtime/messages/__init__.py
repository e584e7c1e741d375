"""The one vocabulary: messages, requests, outcomes and calls, and their one normalisation.

Everything else speaks it: models and tools of the runtime, the journal, the conventions of the debugger and the
screens. All types are frozen. Names follow the OpenTelemetry GenAI semantic conventions.
"""

from ._call import SERVED_FREE, Call, CallKind, Mark
from ._json import Json, JsonObject, canonical_json, json_safe, parse_json_text, read_json
from ._known import Known
from ._message import (
    BlobPart,
    Message,
    OtherPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    message_from_json,
    message_to_json,
    part_from_json,
    part_to_json,
    text_of,
)
from ._outcome import ErrorInfo, Outcome, OutcomeStatus, Usage
from ._request import Effect, Request, ToolDefinition, ToolRequest, ValueRequest

__all__ = [
    "SERVED_FREE",
    "BlobPart",
    "Call",
    "CallKind",
    "Effect",
    "ErrorInfo",
    "Json",
    "JsonObject",
    "Known",
    "Mark",
    "Message",
    "OtherPart",
    "Outcome",
    "OutcomeStatus",
    "Part",
    "ReasoningPart",
    "Request",
    "TextPart",
    "ToolCallPart",
    "ToolCallResponsePart",
    "ToolDefinition",
    "ToolRequest",
    "Usage",
    "ValueRequest",
    "canonical_json",
    "json_safe",
    "message_from_json",
    "message_to_json",
    "parse_json_text",
    "part_from_json",
    "part_to_json",
    "read_json",
    "text_of",
]
