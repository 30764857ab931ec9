"""Offline, repeatable stand-ins for the outside world. Every company, price and time in them is invented."""

from .pace import configure_services

__all__ = ["configure_services"]
