"""The author's one import."""

import inspect

import pytest

from sessions_app import providers, sdk


def test_the_public_names_are_sorted() -> None:
    assert sdk.__all__ == sorted(sdk.__all__)


@pytest.mark.parametrize("module", [sdk, providers])
def test_every_public_name_is_there_and_documented(module: object) -> None:
    names = getattr(module, "__all__")  # noqa: B009 - a module type has no such attribute
    values = {name: getattr(module, name) for name in names}
    undocumented = [name for name, value in values.items() if not own_docstring(value)]
    assert undocumented == []


def test_every_public_method_is_documented() -> None:
    undocumented = [
        f"{name}.{member}"
        for name in sdk.__all__
        for member, value in vars(getattr(sdk, name)).items()
        if not member.startswith("_") and callable(inspect.unwrap(getattr(value, "__func__", value)))
        if inspect.isfunction(getattr(value, "__func__", value)) and not inspect.getdoc(value)
    ]
    assert undocumented == []


def own_docstring(value: object) -> str:
    """Return the docstring a name has itself; an inherited one says nothing about it."""
    return (value.__dict__.get("__doc__") if isinstance(value, type) else inspect.getdoc(value)) or ""
