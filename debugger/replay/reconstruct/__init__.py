"""The agent that a trace implies, rebuilt from nothing but the trace, so that any trace can be run again.

``script`` is the shape of it, ``turns`` finds out how each request to a model follows from what came before, ``steps``
in which order and nesting things ran, ``build`` puts both together. ``play`` runs it, in the child process.
"""
