"""What a process does before it begins its work: mistakes a person has to mend end it with a message."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO

from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from sessions_app.discovery import AgentsNotLoaded


@contextmanager
def told_plainly() -> Iterator[None]:
    """Put a message in place of a traceback: where in Django a mistake was noticed helps nobody."""
    try:
        yield
    except ImproperlyConfigured as error:
        sys.exit(f"Agentsite is not configured: {error}")
    except (AgentsNotLoaded, SystemCheckError) as error:
        sys.exit(str(error))


def refuse_wrong_definitions() -> None:
    """Check agents and tools. Writes warnings to standard error; raises `SystemCheckError` with all errors."""
    call_command("check", tags=["agents"], stdout=StringIO())
