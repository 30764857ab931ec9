"""Durable agent sessions: definitions, the machine that runs them, and the pages that show them."""
