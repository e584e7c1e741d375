"""Widgets that draw by line: their cost depends on the screen, never on the number of rows."""
