"""Retrospan, the desktop app: importers, store, analysis, replay, screens and the command line."""
