"""Django's system checks for what agent authors define: `./run manage check`, and every start of the site.

What a class statement alone shows to be impossible (a reserved type, a tool name that providers refuse, a tool without
a description) is a `DefinitionError` there and then. What shows only once all classes are there, or once a class is
complete, is a check. So each mistake is told once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.core.checks import CheckMessage

from .definitions import Definitions
from .rules_for_agents import AGENT_RULES
from .rules_for_classes import CLASS_RULES

TAG = "agents"


def register() -> None:
    """Enter the checks in Django's registry."""
    checks.register(check_definitions, TAG)


def check_definitions(app_configs: Sequence[Any] | None = None, **_: Any) -> list[CheckMessage]:
    """Return what is wrong with the definitions of this process."""
    return faults_of(Definitions.of_this_process())


def faults_of(definitions: Definitions) -> list[CheckMessage]:
    """Return what is wrong with some definitions."""
    return [fault for rule in (*CLASS_RULES, *AGENT_RULES) for fault in rule(definitions)]
