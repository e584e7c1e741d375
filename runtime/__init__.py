"""The embedded agent runtime of Retrospan: agents, snapshots, journal, restore and replay.

It knows nothing of the debugger, of DuckDB or of Textual. Public names are loaded on first use, so that
reading a trace does not import pydantic or OpenTelemetry.
"""
