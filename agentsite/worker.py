"""Runs a Celery worker in this process: `python -m agentsite.worker --app agentsite worker`."""

import os

import django
from celery.bin.celery import main as celery

from agentsite.starting import refuse_wrong_definitions, told_plainly


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")
    with told_plainly():
        django.setup()
        refuse_wrong_definitions()
    celery()


if __name__ == "__main__":
    main()
