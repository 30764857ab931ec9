"""Text that a model wrote, as safe HTML.

Two fences, either of which would do: markdown-it treats HTML in the text as text, and nh3 lets only the elements and
attributes below through. The page acts on attributes that begin with `hx-`, so an allowlist is the only safe kind.
Images are shown as links: a picture from elsewhere would tell its host who reads this, and when.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

LONGEST = 200_000
"""Characters that are formatted; beyond them text is shown as it is."""
TAGS = {
    "a", "blockquote", "br", "code", "del", "div", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
ATTRIBUTE_VALUES = {
    # The only `div` is the frame around a table. What scrolls sideways must be reachable by keyboard.
    "div": {"class": {"scroll"}, "tabindex": {"0"}, "role": {"group"}},
    "pre": {"tabindex": {"0"}},
}
FIRST_HEADING = 4
"""A heading in a message stands below the page's own: title, conversation, message."""


class _Renderer(RendererHTML):
    def image(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        label = self.renderInlineAsText(tokens[index].children or [], options, env)
        source = str(tokens[index].attrs.get("src", ""))
        return f'<a href="{_escape(source)}">{_escape(label or source)}</a>'


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _with_headings_in_order(tokens: Sequence[Token]) -> Sequence[Token]:
    """Set headings below those of the page, none deeper by more than one than the heading it stands under."""
    above: list[int] = []
    for token in tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
            above = [*(other for other in above if other < level), level]
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, FIRST_HEADING + len(above) - 1)}"
    return tokens


def _table_frame(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Wide tables scroll inside a frame of their own."""
    opening = '<div class="scroll" tabindex="0" role="group"><table>\n'
    return opening if tokens[index].nesting > 0 else "</table></div>\n"


def _code(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return f'<pre tabindex="0"><code>{_escape(tokens[index].content)}</code></pre>\n'


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"])
    for rule in ("fence", "code_block"):
        parser.add_render_rule(rule, _code)
    for rule in ("table_open", "table_close"):
        parser.add_render_rule(rule, _table_frame)
    return parser


_markdown = _parser()


@functools.lru_cache(maxsize=512)
def to_html(text: str) -> SafeString:
    """Return Markdown as HTML that is safe to put into a page. The same text is formatted once."""
    if not text.strip():
        return mark_safe("")
    return mark_safe(sanitise(_render(text)))  # noqa: S308 (sanitised)


def _render(text: str) -> str:
    if len(text) > LONGEST:
        return f"<pre>{_escape(text)}</pre>"
    tokens = _with_headings_in_order(_markdown.parse(text))
    return str(_markdown.renderer.render(tokens, _markdown.options, {}))


def sanitise(html: str) -> str:
    """Return HTML with nothing in it but the elements, attributes and addresses listed above."""
    return nh3.clean(
        html,
        tags=TAGS,
        clean_content_tags={"script", "style", "template"},
        attributes=ATTRIBUTES,
        tag_attribute_values=ATTRIBUTE_VALUES,
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="noopener nofollow",
        strip_comments=True,
    )
