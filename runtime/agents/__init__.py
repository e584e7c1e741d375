"""Agents: nested frames with memory, prompts with tools, and runs that can be recorded, dumped and replayed."""

from ._agent import Agent, Reborn, agent, reborn
from ._context import Context, current_context
from ._dump import dump_snapshot
from ._memory import Memory, memory
from ._prompt import Answer, prompt
from ._resources import resource
from ._resume import resume
from ._run import Run, run_sync, run_with
from ._usage import record_tool_usage
from ._values import new_id, now, random

__all__ = [
    "Agent",
    "Answer",
    "Context",
    "Memory",
    "Reborn",
    "Run",
    "agent",
    "current_context",
    "dump_snapshot",
    "memory",
    "new_id",
    "now",
    "prompt",
    "random",
    "reborn",
    "record_tool_usage",
    "resource",
    "resume",
    "run_sync",
    "run_with",
]
