"""Screens: they wire keys, workers and widgets; they neither query nor draw."""
