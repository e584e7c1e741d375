"""Programs in any language, run behind the endpoint: their environment, their start and end, and what came of it."""
