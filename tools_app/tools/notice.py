"""A line in the conversation that says what changed. People read it, the model does not."""

from __future__ import annotations

from sessions_app.sdk import ContextItem, RenderResult


class Notice(ContextItem, type="notice"):
    """One sentence for people."""

    text: str

    def render(self) -> RenderResult:
        return RenderResult.ready()
