"""Images, sounds and files in messages, by name and size, whichever way the producer wrote them.

The shapes are those of the OpenTelemetry GenAI conventions (``blob``, ``uri``, ``file``), of OpenAI's chat and
responses APIs, of Anthropic's, Gemini's, and of the Vercel AI SDK and pydantic-ai. Nothing is decoded: a size is
reckoned from the length of the base64 text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runtime.messages import BlobPart, Json, OtherPart

_NESTED = ("image_url", "input_audio", "file", "source", "inline_data", "inlineData", "file_data", "fileData", "image",
           "audio", "blob")  # fmt: skip
_INLINE = ("data", "content", "file_data", "image", "bytes")
_REFERENCE = ("uri", "url", "image_url", "file_url", "file_uri", "fileUri", "file_id")
_MIME = ("mime_type", "media_type", "mimeType", "mediaType")
_TYPES = frozenset(("blob", "uri", "file", "image", "image_url", "input_image", "input_audio", "input_file", "document",
                    "audio", "audio_url", "video", "video_url", "image-url", "audio-url", "video-url", "document-url",
                    "binary", "inline_data", "file_data", "media"))  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """What a message shows or plays; each fact is None where it was not recorded."""

    mime_type: str | None
    size_bytes: int | None
    name: str | None
    """A file name, or where it lies."""


def media_of(part: BlobPart | OtherPart) -> Media | None:
    """The media of a part; None for another kind of part. Cost: the length of a header, not of the data."""
    if isinstance(part, BlobPart):
        return Media(mime_type=part.mime_type, size_bytes=part.size_bytes, name=part.uri)
    if part.type not in _TYPES and not any(key in part.data for key in ("inline_data", "inlineData", "fileData")):
        return None
    layers = list(_layers(part.data))
    mime, inline, where = (_first(layers, keys) for keys in (_MIME, _INLINE, _REFERENCE))
    if inline is None and where is None:
        return None
    if where is not None and where.startswith("data:"):
        inline, where = where, None
    size = None
    if inline is not None:
        head, is_url, data = inline.partition(",") if inline.startswith("data:") else ("", "", inline)
        size = _decoded_size(data if is_url or not head else "")
        mime = mime or head.removeprefix("data:").partition(";")[0] or None
    name = _first(layers, ("filename", "file_name", "name", "title")) or where
    return Media(mime_type=mime or _first(layers, ("modality", "format")) or _kind(part.type), size_bytes=size,
                 name=name)  # fmt: skip


def _layers(data: Mapping[str, Json], depth: int = 3) -> Iterator[Mapping[str, Json]]:
    """The part, and what it keeps its data in: OpenInference has an image in an image."""
    yield data
    for key in _NESTED if depth else ():
        if isinstance(inner := data.get(key), Mapping):
            yield from _layers(inner, depth - 1)


def _first(layers: list[Mapping[str, Json]], keys: tuple[str, ...]) -> str | None:
    found = (layer.get(key) for layer in reversed(layers) for key in keys)
    return next((value for value in found if isinstance(value, str) and value), None)


def _decoded_size(base64: str) -> int:
    padding = 2 if base64.endswith("==") else 1 if base64.endswith("=") else 0
    return len(base64) * 3 // 4 - padding


def _kind(type_: str) -> str:
    return type_.replace("input_", "").partition("_url")[0].partition("-url")[0]
