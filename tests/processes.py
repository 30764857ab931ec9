"""Real server and worker processes for tests, started the way a person starts them: through `./run`."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parent.parent
RUN = [sys.executable, str(ROOT / "run")]
RUNNING = re.compile(r"running at (http://\S+?)/ ")
WORKER_READY = re.compile(r"worker is ready")


class ServerProcess:
    """One process with its log. Use it as a context manager; leaving the block kills what still runs.

    `variables` are all that it finds in its environment besides what any program needs: nothing of a developer's
    settings reaches it.
    """

    def __init__(self, command: list[str], *, log: Path, ready: re.Pattern[str], **variables: str) -> None:
        self.command = command
        self.log_path = log
        self.ready = ready
        self.environment = bare_environment() | {"PYTHONUNBUFFERED": "1"} | variables
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, timeout: float = 30) -> Self:
        """Start it and wait until it says that it is ready."""
        seen = len(self.log)
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A group of its own: a signal meant for it must not reach the tests, as Ctrl-C in a terminal would.
                start_new_session=True,
            )
        self.wait_for_log(self.ready, timeout, seen)
        return self

    def wait_for_log(self, pattern: re.Pattern[str], timeout: float = 10, start: int = 0) -> re.Match[str]:
        """The first match after position `start`; fails with the log when the process ends or time is up."""
        deadline = time.monotonic() + timeout
        while True:
            ended = self.process is None or self.process.poll() is not None
            if found := pattern.search(self.log, start):
                return found
            if ended or time.monotonic() > deadline:
                reason = f"ended with {self.process and self.process.returncode}" if ended else "did not say so in time"
                raise AssertionError(f"{self.command} {reason}; waited for {pattern.pattern!r}. Its log:\n{self.log}")
            time.sleep(0.02)

    @property
    def log(self) -> str:
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    @property
    def url(self) -> str:
        """Where it answers, without a slash at the end."""
        return RUNNING.findall(self.log)[-1]

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def interrupt(self, timeout: float = 10) -> int:
        """Ctrl-C: the signal goes to the whole group. Returns the exit code."""
        return self._signal(signal.SIGINT, timeout)

    def terminate(self, timeout: float = 10) -> int:
        return self._signal(signal.SIGTERM, timeout)

    def kill(self) -> None:
        """As a crash, a lost machine or the system's memory killer would: it cannot tidy up."""
        self._signal(signal.SIGKILL, timeout=10)

    def _signal(self, number: signal.Signals, timeout: float) -> int:
        assert self.process is not None, "not started"
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)
        return self.process.wait(timeout)

    def __enter__(self) -> Self:
        return self if self.process else self.start()

    def __exit__(self, *_: object) -> None:
        if self.process:
            self.kill()


def bare_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}


def serve(data_dir: Path, *arguments: str, **variables: str) -> ServerProcess:
    """`./run --no-reload`: the whole site in one process, on a free port unless `arguments` name one."""
    arguments = arguments if "--port" in arguments else ("--port", "0", *arguments)
    variables = {"AGENTSITE_DATA_DIR": str(data_dir)} | variables
    return ServerProcess([*RUN, "--no-reload", *arguments], log=data_dir / "serve.log", ready=RUNNING, **variables)


def web(data_dir: Path, name: str = "web", **variables: str) -> ServerProcess:
    """`./run web` on a free port. `variables` name the services it shares with other processes."""
    variables = {"AGENTSITE_DATA_DIR": str(data_dir)} | variables
    return ServerProcess([*RUN, "web", "--port", "0"], log=data_dir / f"{name}.log", ready=RUNNING, **variables)


def worker(data_dir: Path, name: str = "worker", *arguments: str, **variables: str) -> ServerProcess:
    """`./run worker`."""
    variables = {"AGENTSITE_DATA_DIR": str(data_dir)} | variables
    return ServerProcess([*RUN, "worker", *arguments], log=data_dir / f"{name}.log", ready=WORKER_READY, **variables)


def manage(data_dir: Path, *arguments: str, **variables: str) -> str:
    """`./run manage …`: what it prints; fails with all of it when the command fails."""
    environment = bare_environment() | {"AGENTSITE_DATA_DIR": str(data_dir)} | variables
    result = subprocess.run(
        [*RUN, "manage", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, f"manage {arguments} failed:\n{result.stdout}{result.stderr}"
    return result.stdout
