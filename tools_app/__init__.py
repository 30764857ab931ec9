"""Agents and tools built on the public SDK."""
