"""Turns environment variables into typed settings, with errors that say what to type instead."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from agentsite.databases import database_from_url

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True)
class Environment:
    """Typed access to the environment's variables. An empty variable counts as unset."""

    variables: Mapping[str, str]

    def text(self, name: str, default: str = "") -> str:
        return self.variables.get(name, "").strip() or default

    def flag(self, name: str, default: bool) -> bool:
        word = self.text(name).lower()
        if not word:
            return default
        if word in TRUE_WORDS:
            return True
        if word in FALSE_WORDS:
            return False
        raise ImproperlyConfigured(f"{name} is {word!r}, which is neither yes nor no. Set it to 1 or 0.")

    def integer(self, name: str, default: int, minimum: int) -> int:
        text = self.text(name, str(default))
        try:
            value = int(text)
        except ValueError:
            raise ImproperlyConfigured(f"{name} is {text!r}. Set it to a whole number.") from None
        if value < minimum:
            raise ImproperlyConfigured(f"{name} is {value}. Set it to {minimum} or more.")
        return value

    def seconds(self, name: str, default: float) -> float:
        text = self.text(name, str(default))
        try:
            value = float(text)
        except ValueError:
            raise ImproperlyConfigured(f"{name} is {text!r}. Set it to seconds, such as 0.5.") from None
        # Written this way round so that NaN is refused too.
        if not 0 <= value < float("inf"):
            raise ImproperlyConfigured(f"{name} is {text!r}. Set it to seconds, zero or more.")
        return value

    def words(self, name: str, default: str = "") -> list[str]:
        """A comma-separated list."""
        return [word.strip() for word in self.text(name, default).split(",") if word.strip()]

    def choice(self, name: str, default: str, choices: Sequence[str]) -> str:
        word = self.text(name, default).upper()
        if word not in choices:
            raise ImproperlyConfigured(f"{name} is {word!r}. Set it to one of {', '.join(choices)}.")
        return word

    def required(self, name: str, remedy: str) -> str:
        value = self.text(name)
        if not value:
            raise ImproperlyConfigured(f"{name} is not set. {remedy}")
        return value

    def database(self, name: str, default: str, base_dir: Path, pool_size: int) -> dict[str, Any]:
        """One entry of Django's DATABASES. A relative SQLite path starts at `base_dir`."""
        return database_from_url(name, self.text(name, default), base_dir, pool_size)
