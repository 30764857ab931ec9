"""A process with an embedded worker and nothing else of the site, for tests/test_embedded.py.

`python -m tests.embedded_site hang` runs a task that does not end and presses Ctrl-C; `python -m tests.embedded_site
drain` sends 200 tasks at once and prints how many seconds they took.
"""

import os
import signal
import sys
import threading
import time

import django
from celery import shared_task
from daphne import server  # noqa: F401 (installs the event loop that the worker's end is tied to)
from twisted.internet import reactor

HINTS = 200
arrived = threading.Semaphore(0)


@shared_task
def hint():
    arrived.release()


@shared_task
def hang():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)


def drain():
    hint.delay()
    arrived.acquire()  # the worker is up
    started = time.monotonic()
    for _ in range(HINTS):
        hint.delay()
    for _ in range(HINTS):
        arrived.acquire()
    print(f"drained in {time.monotonic() - started:.3f} s", flush=True)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    django.setup()
    from agentsite import embedded

    embedded.start()
    threading.Thread(target={"drain": drain, "hang": hang.delay}[sys.argv[1]], daemon=True).start()
    reactor.run()
