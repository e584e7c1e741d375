"""A tool: a Python function with a JSON schema made from its signature."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError
from pydantic.json_schema import GenerateJsonSchema

from ..errors import ContextNotFoundError, ToolArgumentsError
from ..messages import Effect, Json, ToolDefinition, json_safe
from ._host import current_host
from ._middleware import Middleware


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that a model may call. Called by hand inside a run, it is recorded and replayed in the same way."""

    fn: Callable[..., Any]
    definition: ToolDefinition
    arguments_model: type[BaseModel]
    parameters: Mapping[str, str]
    """Fields of the model by parameter name; fields are named by numbers, so that a parameter may have any name."""
    effect: Effect = "committed"
    """Decides what a replay may do in mode ``safe``; see ``runtime.journal.ReplayPolicy``."""
    returns: Any = Any
    """The return annotation."""
    middleware: tuple[Middleware, ...] = ()
    """Around the journal and the function, the first outermost."""
    needs_approval: bool = False
    """Ask the run's approval hook before each call."""
    runs_agent: bool = False
    """True for an agent offered as a tool: it is never answered as a whole, since its frame replays from within."""

    @property
    def layers(self) -> bool:
        """True when something stands between the call and its journal entry."""
        return bool(self.middleware) or self.needs_approval

    @property
    def name(self) -> str:
        """The name that the model sees."""
        return self.definition.name

    def validate(self, arguments: Json) -> dict[str, Any]:
        """The arguments as Python values, defaults filled in.

        Raises:
            ToolArgumentsError: they do not fit the signature.
        """
        try:
            parsed = self.arguments_model.model_validate(arguments)
        except ValidationError as fault:
            reasons = (f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in fault.errors())
            raise ToolArgumentsError(self.name, "; ".join(reasons)) from fault
        return {name: getattr(parsed, field) for name, field in self.parameters.items()}

    def to_json(self, validated: Mapping[str, Any]) -> dict[str, Json]:
        """Validated arguments as JSON: what the content hash is made of.

        What is no JSON is named by a text: the tool is called with the value itself all the same.
        """
        fields = {self.parameters.get(name, name): value for name, value in validated.items()}
        try:
            dumped = self.arguments_model.model_construct(**fields).model_dump(mode="json", warnings=False)
        except Exception:  # noqa: BLE001 - the border of foreign code: a value that its type cannot write
            dumped = fields
        shown: dict[str, Json] = json_safe({name: dumped[field] for name, field in self.parameters.items()})[0]
        return shown

    def revive(self, recorded: Json) -> Any:
        """A recorded result as the type that the function says it returns, so that a replay hands out the same kind.

        Where the annotation is missing or does not fit, the JSON value itself.
        """
        return revive_as(self.returns, recorded)

    async def invoke(self, validated: Mapping[str, Any]) -> Any:
        """Run the function itself; a blocking one runs in a thread, so that parallel calls stay parallel."""
        if inspect.iscoroutinefunction(self.fn):
            return await self.fn(**validated)
        result = await in_thread(self.fn, **validated)
        return await result if inspect.isawaitable(result) else result

    def __call__(self, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        """Call the tool by hand, as a step of the agent around it.

        Raises:
            ContextNotFoundError: outside a run; ``tool.fn(...)`` is the bare function.
            ToolArgumentsError: the arguments do not fit.
        """
        host = current_host.get()
        if host is None:
            raise ContextNotFoundError(f"calling tool {self.name!r}")
        try:
            bound = inspect.signature(self.fn).bind_partial(*args, **kwargs)
        except TypeError as fault:
            raise ToolArgumentsError(self.name, str(fault)) from fault
        return host.call_tool(self, bound.arguments)


async def in_thread(fn: Callable[..., Any], **given: Any) -> Any:
    """Run a blocking function in a thread; its result, or what it raised."""

    def run() -> Any:
        try:
            return fn(**given)
        except StopIteration as end:
            # No future takes it, and who awaits the thread would wait for ever. A coroutine says the same.
            raise RuntimeError(f"{getattr(fn, '__name__', 'the function')} raised StopIteration") from end

    return await asyncio.to_thread(run)


def revive_as(kind: Any, recorded: Json) -> Any:
    """A recorded JSON value as the annotated type; the value itself where the type is unknown or does not fit."""
    if kind is Any:
        return recorded
    try:
        return TypeAdapter(kind).validate_python(recorded)
    except (ValidationError, PydanticSchemaGenerationError):
        return recorded


@overload
def tool(fn: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect = "committed",
    middleware: Sequence[Middleware] = (),
    needs_approval: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect = "committed",
    middleware: Sequence[Middleware] = (),
    needs_approval: bool = False,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a function, blocking or async. Its docstring is the description, its annotations are the schema.

    Args:
        fn: the function, where used without parentheses.
        name: what the model calls it, by default the function's name.
        description: instead of the docstring.
        effect: what a call does to the world.
        middleware: around each call, the first outermost; see ``Middleware``.
        needs_approval: ask the run's approval hook before each call.

    Raises:
        TypeError: a parameter is positional-only or variadic, which JSON arguments cannot express, or its annotation
            cannot be resolved or described as a JSON schema; or the function is a generator.
        ValueError: the name holds characters that cannot be written.
    """

    def make(function: Callable[..., Any]) -> Tool:
        made = tool_of(function, name=name, description=description, effect=effect)
        return replace(made, middleware=tuple(middleware), needs_approval=needs_approval)

    return make if fn is None else make(fn)


class _Schema(GenerateJsonSchema):
    """Leaves out defaults that are no JSON without a warning; the function has them all the same."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as pydantic declares it


def tool_of(
    fn: Callable[..., Any], *, name: str | None = None, description: str | None = None, effect: Effect = "committed"
) -> Tool:
    """As the decorator ``tool``, as a plain function."""
    called = name or fn.__name__
    if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        raise TypeError(f"tool {called!r} is a generator; a tool returns its result as a whole, such as a list")
    try:
        called.encode()
        hints = get_type_hints(fn, include_extras=True)
    except UnicodeEncodeError as fault:
        raise ValueError(f"tool name {called!r} cannot be written") from fault
    except NameError as fault:
        raise TypeError(f"tool {called!r}: an annotation cannot be resolved ({fault})") from fault
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    for i, parameter in enumerate(inspect.signature(fn).parameters.values()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"tool {called!r}: parameter {parameter.name!r} cannot be given by name")
        names[f"{i}"] = parameter.name
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[f"{i}"] = (hints.get(parameter.name, Any), default)
    try:
        model = create_model(
            "Arguments", __config__=ConfigDict(extra="forbid", alias_generator=names.__getitem__), **fields
        )
        schema = model.model_json_schema(schema_generator=_Schema)
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema) as fault:
        reason = str(fault).splitlines()[0]
        raise TypeError(f"tool {called!r}: its parameters cannot be described to a model ({reason})") from fault
    schema.pop("title", None)
    text = description if description is not None else inspect.getdoc(fn)
    return Tool(
        fn=fn,
        definition=ToolDefinition(called, text, schema),
        arguments_model=model,
        parameters={parameter: field for field, parameter in names.items()},
        effect=effect,
        returns=hints.get("return", Any),
    )
