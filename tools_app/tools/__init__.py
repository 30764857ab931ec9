"""Tools, one idea to a file: event, effect, item and tool together."""
