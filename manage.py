#!/usr/bin/env python
"""Django's command line for Agentsite."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # Its text says which setting to change; where in Django it was noticed helps nobody.
        sys.exit(f"Agentsite is not configured: {error}")


if __name__ == "__main__":
    main()
