"""Pure view models over row types: what the screens show, with no screen and no database in it."""
