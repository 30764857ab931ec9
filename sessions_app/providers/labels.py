"""The name of a model as people see it."""

from __future__ import annotations

from ..core.language_model import LanguageModel


def label_of(model: LanguageModel) -> str:
    """Return a model's `label`, or its class name where its author gave it none."""
    label = getattr(model, "label", "")
    return label if isinstance(label, str) and label else type(model).__name__
