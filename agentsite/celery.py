"""The Celery application. Its settings are Django's, under the prefix CELERY_."""

import logging
import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_init, worker_ready, worker_shutdown, worker_shutting_down

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")

app = Celery("agentsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

logger = logging.getLogger(__name__)


@setup_logging.connect
def keep_log_settings(**_: Any) -> None:
    """A listener, whatever it does, keeps Celery from setting logs up its own way."""


@worker_init.connect
def start_sweeper(**_: Any) -> None:
    """Every worker looks for work that no message announced, also one that finds no broker yet."""
    # Imported late: this module is loaded before Django's apps are.
    from sessions_app import sweeper

    sweeper.start()


@worker_ready.connect
def say_ready(sender: Any, **_: Any) -> None:
    """It has reached its broker. (The embedded worker sends no such signal.)"""
    logger.info("worker is ready", extra={"worker": sender.hostname})


# The first of the two comes with the order to stop, so that nothing new is claimed while running tasks end; the
# second also when a worker stops for another reason.
@worker_shutting_down.connect
@worker_shutdown.connect
def stop_sweeper(**_: Any) -> None:
    from sessions_app import sweeper

    sweeper.stop()
