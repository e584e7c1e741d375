"""Replays: which program to run, what it would do, the child process that runs it, and the report."""
