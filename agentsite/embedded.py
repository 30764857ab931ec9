"""A Celery worker inside the web process, so that one process is a whole site.

It stops with the server, and within a bound. Without one, Ctrl-C would wait for whatever task runs; a task that is
cut off keeps its row, and its lease runs out, so that the next start takes it up again.
"""

import logging
import os
import sys
import threading

from celery.worker import WorkController
from twisted.internet import reactor
from twisted.internet.defer import Deferred

from agentsite.celery import app
from sessions_app import sweeper

logger = logging.getLogger(__name__)

# Seconds that running tasks have to end. A person who presses Ctrl-C should see it happen within three.
GRACE = 2.5


def start() -> None:
    """Start the worker, with which the sweeper starts; arrange for both to stop with the server."""
    worker = WorkController(
        app=app,
        hostname=f"embedded-{os.getpid()}@local",
        # News for other workers, of which there are none.
        without_heartbeat=True,
        without_mingle=True,
        without_gossip=True,
    )
    threading.Thread(target=worker.start, name="embedded-worker", daemon=True).start()
    # Twisted declares its reactor as a zope interface, whose methods lack `self`: the checker is off by one argument.
    reactor.addSystemEventTrigger("before", "shutdown", lambda: begin_to_stop(worker))  # type: ignore[arg-type]


def begin_to_stop(worker: WorkController) -> Deferred[None]:
    """Stop on a thread, while the server closes its connections, and let the main thread go on to its end only then.

    Once it has ended Python takes no more work for its thread pools, so that results could not be saved any more and
    what still runs could not be handed back.
    """
    stopped: Deferred[None] = Deferred()

    def work() -> None:
        try:
            stop(worker)
        finally:
            reactor.callFromThread(stopped.callback, None)

    threading.Thread(target=work, name="embedded-worker-stop").start()
    return stopped


def stop(worker: WorkController) -> None:
    deadline = threading.Timer(GRACE, leave)
    deadline.daemon = True
    deadline.start()
    sweeper.stop()
    worker.stop()


def leave() -> None:
    """End the process although a task is running: nothing else can end a thread that does not want to."""
    logger.warning("a task did not end in time; it will be tried again after the next start")
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)
