"""Runs the web server in a process of its own, and starts it again when a file it was made from is saved.

For development. The server reports where its code and templates lie (agentsite/watched.py), so that nothing else is
looked at. Run as a file rather than as a module: it needs nothing but the standard library and starts at once.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

INTERVAL = 0.2
"""Seconds between two looks at the files."""
PATIENCE = 4.0
"""Seconds a server has to stop. It needs 2.5 where a task is running."""
SUFFIXES = (".py", ".html")

Snapshot = dict[str, tuple[int, int]]


class Reloader:
    """One server after the other, all on the same port."""

    def __init__(self, arguments: list[str], report: Path) -> None:
        self.arguments = [*arguments, "--report", str(report), "--parent", str(os.getpid())]
        self.report = report
        self.directories: set[str] = set()
        self.port: list[str] = []
        self.child: subprocess.Popen[bytes] | None = None
        self.stopped = False

    def run(self) -> int:
        """Return the exit code once a person stops it, or a server ends that never ran."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        while True:
            before, started = snapshot(self.directories), time.time_ns()
            self.child = self._start()
            changed = self._wait_for_change(before, started)
            code = end(self.child)
            if self.stopped or not (changed or (self.port and code > 0)):
                return 0 if self.stopped else code if code >= 0 else 128 - code
            if not changed:
                say("It starts again when a file is saved. Ctrl-C ends it.")
                changed = self._wait_for_change(before, started)
                if not changed:
                    return 0
            say(f"{changed} was saved: starting again …")

    def _start(self) -> subprocess.Popen[bytes]:
        # A group of its own: Ctrl-C reaches this process only, which passes it on once.
        group = 0 if os.name == "posix" else None
        command = [sys.executable, "-m", "agentsite.serve", *self.arguments, *self.port]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=group)  # noqa: S603 (all of it is ours)

    def _stop(self, *_: object) -> None:
        self.stopped = True

    def _wait_for_change(self, before: Snapshot, started: int) -> str:
        """Return the name of a file that was saved; nothing where a running server ended or is to be stopped."""
        assert self.child is not None
        running = self.child.poll() is None
        while not self.stopped and (self.child.poll() is None) == running:
            self._read_report()
            if changed := difference(before, snapshot(self.directories), started):
                time.sleep(INTERVAL)  # more files may be saved together
                return Path(changed).name
            time.sleep(INTERVAL)
        return ""

    def _read_report(self) -> None:
        if self.report.exists():
            told = json.loads(self.report.read_text())
            self.directories |= set(told["directories"])
            self.port = ["--port", str(told["port"])]


def snapshot(directories: set[str]) -> Snapshot:
    """Return time and size of each file of code or templates."""
    files: Snapshot = {}
    for directory in directories:
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if entry.name.endswith(SUFFIXES):
                        status = entry.stat()
                        files[entry.path] = (status.st_mtime_ns, status.st_size)
        except OSError:
            continue  # it was removed just now, and the next look will tell
    return files


def difference(before: Snapshot, now: Snapshot, started: int) -> str:
    """Return a file that is not as the server read it. What is seen for the first time counts if it is newer.

    `before` learns what is seen for the first time. Times are in nanoseconds.
    """
    for file, state in now.items():
        saved = before[file] != state if file in before else state[0] > started
        before.setdefault(file, state)
        if saved:
            return file
    return next((file for file in before if file not in now), "")


def end(child: subprocess.Popen[bytes]) -> int:
    """Stop a server that still runs, and return its exit code."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT) if os.name == "posix" else child.terminate()
    try:
        return child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 (a person in a terminal is told)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="agentsite-") as directory:
        code = Reloader(sys.argv[1:], Path(directory, "report")).run()
    sys.exit(code)
