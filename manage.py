#!/usr/bin/env python
"""Django's command line for Agentsite."""

import os
import sys

from django.core.management import execute_from_command_line

from agentsite.starting import told_plainly


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")
    with told_plainly():
        execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
