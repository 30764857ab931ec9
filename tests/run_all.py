"""Every check and test, with a summary at the end. `./run test` starts it.

A service or browser that is not there leaves its tests out, and the summary says so; with REQUIRE_SERVICES=1 that is
a failure. TEST_POSTGRES_URL, TEST_REDIS_URL and TEST_AMQP_URL say where the services are.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO

from tests import services

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ["agentsite", "sessions_app", "tools_app"]
PYTEST = ["-m", "pytest", "-q"]


@dataclass(frozen=True)
class Step:
    name: str
    command: list[str]
    variables: dict[str, str] = field(default_factory=dict)
    missing: str | None = None  # why it cannot run here

    def run(self) -> bool:
        """Run it as a Python command and say whether it passed."""
        print(f"\n=== {self.name}", flush=True)
        started = time.monotonic()
        process = self.start()
        return self.report(process.wait(), started)

    def start(self, output: IO[str] | None = None) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, *self.command],
            cwd=ROOT,
            env={**os.environ, **self.variables},
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            text=True,
        )

    def report(self, code: int, started: float) -> bool:
        print(f"--- {self.name}: {outcome(code)}, {time.monotonic() - started:.1f} s", flush=True)
        return code == 0


def run_beside(first: Step, second: Step) -> tuple[bool, bool]:
    """Run two steps at once, each on a core of its own; the second one's output follows the first's."""
    with tempfile.TemporaryFile("w+") as output:
        started = time.monotonic()
        process = second.start(output)
        passed = first.run()
        code = process.wait()
        output.seek(0)
        print(f"\n=== {second.name} (at the same time)\n{output.read()}", end="")
        return passed, second.report(code, started)


def outcome(code: int) -> str:
    # pytest's code 5, no test collected, is a failure too: a wrong marker would otherwise pass in silence.
    return "passed" if code == 0 else f"FAILED (exit code {code})"


def checks() -> Iterator[Step]:
    yield Step("ruff check", ["-m", "ruff", "check", "."])
    yield Step("ruff format", ["-m", "ruff", "format", "--check", "."])
    yield Step("mypy", ["-m", "mypy"])
    yield Step("imports", ["-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"])
    with tempfile.TemporaryDirectory() as scratch:
        django = {"AGENTSITE_DEBUG": "1", "AGENTSITE_DATA_DIR": scratch}
        yield Step("migrations are complete", ["manage.py", "makemigrations", "--check", "--dry-run"], django)
        yield Step("Django's checks", ["manage.py", "check"], django)


def tests() -> Iterator[Step | tuple[Step, Step]]:
    postgres = services.problem_with(services.check_postgres)
    others = services.problem_with(services.check_redis) or services.problem_with(services.check_amqp)
    missing = postgres or others
    apart = " and not services" if missing else ""
    yield (
        Step("tests on SQLite", [*PYTEST, "-m", f"not browser and not process and not full{apart}"]),
        Step(
            "tests on PostgreSQL",
            [*PYTEST, "-m", "database and not browser and not process and not full"],
            {"DATABASE_URL": services.postgres_url("agentsite")},
            missing=postgres,
        ),
    )
    if missing:
        yield Step("tests with services", [], missing=missing)
    # The one mostly waits for processes, the other for a browser.
    yield (
        Step(
            "browser tests",
            [*PYTEST, "-m", "browser and not full"],
            missing=None if services.find_browser() else "no chromium, chromium-browser or google-chrome on PATH",
        ),
        Step("process tests", [*PYTEST, "-m", f"process and not full{apart}"]),
    )


def run_all() -> int:
    strict = os.environ.get("REQUIRE_SERVICES") == "1"
    passed, failed, missing = [], [], []
    for planned in chain(checks(), tests()):
        steps = planned if isinstance(planned, tuple) else (planned,)
        missing += [step for step in steps if step.missing]
        steps = tuple(step for step in steps if not step.missing)
        results = run_beside(*steps) if len(steps) == 2 else [step.run() for step in steps]
        for step, is_passed in zip(steps, results, strict=True):
            (passed if is_passed else failed).append(step)

    print("\n=== Summary")
    for step in passed:
        print(f"passed       {step.name}")
    for step in missing:
        print(f"NOT COVERED  {step.name}: {step.missing}")
    for step in failed:
        print(f"FAILED       {step.name}")
    if missing and strict:
        print("REQUIRE_SERVICES=1 makes what is not covered a failure.")
    return 1 if failed or (missing and strict) else 0


def main(arguments: list[str]) -> int:
    if arguments:
        return subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode
    return run_all()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
