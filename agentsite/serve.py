"""Runs the web server in this process: `python -m agentsite.serve --port 8000`."""

import argparse
import os
import signal
import socket
import sys
import threading
import time
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from agentsite.starting import refuse_wrong_definitions, told_plainly
from agentsite.watched import end_with, report_for_good

if TYPE_CHECKING:
    from daphne.server import Server

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8000
START_TIMEOUT = 60.0


def main() -> None:
    # Until the server handles signals itself there is nothing to finish: Ctrl-C just ends the process.
    signal.signal(signal.SIGINT, leave)
    options = parse_options()
    if options.parent:
        threading.Thread(target=end_with, args=[options.parent], daemon=True).start()
    port = choose_port(options.host, options.port, options.any_port)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")
    with told_plainly():
        server = build_server(options.host, port, migrate=options.migrate)
    threading.Thread(target=announce, args=[server, options.report], daemon=True).start()
    # The server only takes Ctrl-C over from Python's own handler.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    server.run()
    if not server.listening_addresses:
        sys.exit(f"The server could not listen on {options.host}; the line above says why.")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="agentsite.serve", description=__doc__)
    parser.add_argument("--host", default=DEFAULT_HOST)
    parser.add_argument("--port", type=int)
    parser.add_argument("--any-port", action="store_true", help="take a free port if the default one is taken")
    parser.add_argument("--migrate", action="store_true", help="migrate the database first")
    parser.add_argument("--report", type=Path, help="file to tell agentsite/reloading.py what to watch")
    parser.add_argument("--parent", type=int, help="process without which this one ends")
    return parser.parse_args()


def choose_port(host: str, wanted: int | None, any_port: bool) -> int:
    """The port to listen on; 0 leaves the choice to the operating system."""
    port = DEFAULT_PORT if wanted is None else wanted
    problem = why_not(host, port)
    if problem is None:
        return port
    if any_port and wanted is None:
        print(f"Port {port} cannot be used ({problem}), so a free one is taken.", flush=True)
        return 0
    sys.exit(f"Cannot listen on {host}, port {port}: {problem}. Choose others with --host and --port.")


def why_not(host: str, port: int) -> str | None:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            # A server that has just stopped leaves its port waiting; that is no obstacle, as for the server itself.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except (OSError, OverflowError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None


def build_server(host: str, port: int, *, migrate: bool) -> "Server":
    # daphne installs its event loop when it is imported, so it comes before whatever might bring another.
    from daphne.endpoints import build_endpoint_description_strings
    from daphne.server import Server
    from django.core.asgi import get_asgi_application

    get_asgi_application()
    refuse_wrong_definitions()
    refuse_without_static_files()
    if migrate:
        migrate_database()
    from agentsite.asgi import application

    return Server(application, endpoints=build_endpoint_description_strings(host, port), server_name="agentsite")


def refuse_without_static_files() -> None:
    """Outside debug mode every page needs the list of hashed file names, and its absence would be an error on each."""
    from django.conf import settings

    if not settings.DEBUG and not (settings.STATIC_ROOT / "staticfiles.json").exists():
        sys.exit(f"There are no collected static files in {settings.STATIC_ROOT}. Run ./run prepare first.")


def migrate_database() -> None:
    from django.core.management import call_command
    from django.db import connections

    call_command("migrate", interactive=False, verbosity=0)
    # This thread becomes the event loop's, where nothing may use a connection.
    connections.close_all()


def announce(server: "Server", report: Path | None) -> None:
    """Tell a person where to look, once something is there to be seen, and who asked what to watch."""
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        if server.listening_addresses and answers(*server.listening_addresses[0]):
            host, port = server.listening_addresses[0]
            print(f"Agentsite is running at http://{browsable(host)}:{port}/ – stop with Ctrl-C", flush=True)
            if report:
                report_for_good(report, port)
            return
        time.sleep(0.02)


def answers(host: str, port: int) -> bool:
    with closing(HTTPConnection(browsable(host).strip("[]"), port, timeout=START_TIMEOUT)) as connection:
        try:
            connection.request("GET", "/health/live/", headers={"Host": own_name()})
            connection.getresponse()
        except OSError:
            return False
    return True


def own_name() -> str:
    """A host name the site answers to: a request for any other is logged as an error."""
    from django.conf import settings

    return next((name.lstrip(".") for name in settings.ALLOWED_HOSTS if name != "*"), "localhost")


def browsable(host: str) -> str:
    """An address to reach a listener by: a wildcard stands for this machine too."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"[{host}]" if ":" in host else host


def leave(*_: object) -> NoReturn:
    os._exit(0)


if __name__ == "__main__":
    main()
