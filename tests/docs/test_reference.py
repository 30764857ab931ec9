"""docs/reference.md says what the docstrings say."""

import pytest

from docs.make_reference import PAGE, reference

pytestmark = pytest.mark.docs


def test_the_reference_is_up_to_date() -> None:
    is_current = PAGE.read_text() == reference()
    assert is_current, "docs/reference.md is out of date. Run: .venv/bin/python -m docs.make_reference"
