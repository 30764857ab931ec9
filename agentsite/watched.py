"""Reports to agentsite/reloading.py where this process's code and templates lie."""

import json
import os
import signal
import sys
import time
from pathlib import Path

from django.template import engines
from django.template.backends.django import DjangoTemplates

from sessions_app.discovery import LIBRARIES

INTERVAL = 1.0
"""Seconds between two looks for modules that were imported late."""


def report_for_good(report: Path, port: int) -> None:
    """Write the port and the directories now and whenever they change."""
    written = ""
    while True:
        told = json.dumps({"port": port, "directories": directories()})
        if told != written:
            unfinished = report.with_suffix(".new")
            unfinished.write_text(told)
            unfinished.replace(report)
            written = told
        time.sleep(INTERVAL)


def end_with(parent: int) -> None:
    """End this process when the one that started it is gone. It may be gone already."""
    while os.getppid() == parent:
        time.sleep(INTERVAL)
    os.kill(os.getpid(), signal.SIGINT)


def directories() -> list[str]:
    """Return where a saved file matters: beside every module that is loaded, and wherever templates are looked for."""
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    code = {str(Path(file).absolute().parent) for file in files if file}
    roots = [
        Path(root) for engine in engines.all() if isinstance(engine, DjangoTemplates) for root in engine.template_dirs
    ]
    templates = {name for root in roots for name, _, _ in os.walk(root)}
    return sorted(name for name in code | templates if not name.startswith(LIBRARIES))
