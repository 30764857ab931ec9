"""What the type checker tells an author, all of it in one run."""

import re
import subprocess
import sys

from tests.processes import ROOT

PLANTED = ROOT / "tests" / "checks" / "planted_types.py"
REPORTED = re.compile(r"planted_types\.py:(\d+): error: .*\[([\w-]+)\]$", re.MULTILINE)


def test_the_type_checker_finds_each_planted_mistake_and_nothing_else() -> None:
    lines = PLANTED.read_text().splitlines()
    planted = {(number, line.partition("# E: ")[2]) for number, line in enumerate(lines, 1) if "# E: " in line}
    command = [sys.executable, "-m", "mypy", "--no-pretty", "--no-error-summary", "--hide-error-context", str(PLANTED)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    found = {(int(number), code) for number, code in REPORTED.findall(result.stdout)}
    assert found == planted, result.stdout + result.stderr
    assert len(found) >= 12
