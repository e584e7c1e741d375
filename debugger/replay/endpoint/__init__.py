"""The local endpoint: models of three protocols, answered from a trace, for programs that are not changed for it."""
