"""Text from a model on the page: what it may say, and that it can do nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.markdown import ATTRIBUTE_VALUES, ATTRIBUTES, TAGS, sanitise, to_html

PAYLOADS = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    '<a href="javascript:alert(1)">x</a>',
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](  javascript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](java&#10;script:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "[x](file:///etc/passwd)",
    "<javascript:alert(1)>",
    '<https://example.org/" onmouseover=alert(1)>',
    '[x](https://example.org "t\\" onmouseover=\\"alert(1)")',
    "![x](https://tracker.example/pixel.png)",
    "![x](javascript:alert(1))",
    "![<b>x</b>](https://e.example/x.png)",
    "<iframe src=https://evil.example></iframe>",
    "<object data=x></object><embed src=x>",
    "<base href=https://evil.example/>",
    '<meta http-equiv="refresh" content="0;url=https://evil.example">',
    '<form action="https://evil.example"><button>x</button></form>',
    "<input autofocus onfocus=alert(1)>",
    "<details open ontoggle=alert(1)>",
    '<div hx-get="/accounts/logout/" hx-trigger="load">x</div>',
    '<div data-hx-post="/s/x/events/" data-hx-trigger="load">x</div>',
    '<hx-partial hx-target="#items" hx-swap="innerHTML">gone</hx-partial>',
    '<template hx type="partial" hx-target="body">gone</template>',
    '<p id="composer" class="card">x</p>',
    '<p style="position:fixed;inset:0">x</p>',
    "<style>*{display:none}</style>",
    '<link rel="stylesheet" href="//evil.example/x.css">',
    "```html\n<script>alert(1)</script>\n```",
    '```" onmouseover=alert(1)\nx\n```',
    "`<img src=x onerror=alert(1)>`",
    "| a |\n|---|\n| <img src=x onerror=alert(1)> |",
    "> <script>alert(1)</script>",
    "1. <svg/onload=alert(1)>",
    "# <script>alert(1)</script>",
    "<!--><script>alert(1)</script>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\u202e<script>alert(1)</script>",
    "[x]: javascript:alert(1)\n\n[x]",
    "[x](/accounts/logout/)",
    "[x](//evil.example/)",
    "[x](#composer)",
    "<a href=https://e.example target=_blank ping=https://evil.example>x</a>",
    "\x00<script>alert(1)</script>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "[a](https://e.example/<script>)",
    "~~<b onclick=alert(1)>x</b>~~",
]


class _Checker(HTMLParser):
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        for name, value in attrs:
            allowed = (
                ATTRIBUTES.get(tag, set()) | set(ATTRIBUTE_VALUES.get(tag, {})) | ({"rel"} if tag == "a" else set())
            )
            assert name in allowed, (tag, name)
            if name == "href":
                assert re.match(r"(https?|mailto):", value or ""), value
                assert dict(attrs)["rel"] == "noopener nofollow"


def check(html: str) -> None:
    checker = _Checker()
    checker.feed(html)
    checker.close()


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_gets_through(payload: str) -> None:
    check(to_html(payload))
    check(to_html(f"Text before\n\n{payload}\n\n*after*"))
    check(sanitise(payload))


@given(st.text(alphabet=st.sampled_from(list("<>[]()!*_`#|-\"'=&;: /\\\n\tajsx1.")), max_size=80))
def test_no_mixture_gets_through(text: str) -> None:
    check(to_html(text))


def test_what_people_want_to_read_is_there() -> None:
    text = (
        "# Title\n\n**bold** *soft* `code` ~~old~~ [site](https://example.org)\n\n- a\n- b\n\n3. c\n\n> q\n\n"
        "| a | b |\n|--|--|\n| 1 | 2 |\n\n```py\nx < 1\n```"
    )
    html = to_html(text)
    for part in ("<h4>Title</h4>", "<strong>bold</strong>", "<em>soft</em>", "<code>code</code>", "<s>old</s>",
                 'href="https://example.org" rel="noopener nofollow"', "<li>a</li>", '<ol start="3">', "<blockquote>",
                 "<td>2</td>", "x &lt; 1"):  # fmt: skip
        assert part in html, part


def test_headings_stand_below_those_of_the_page() -> None:
    assert re.findall(r"<h\d>", to_html("# a\n\n## b\n\n### c\n\n###### d")) == ["<h4>", "<h5>", "<h6>", "<h6>"]
    assert re.findall(r"<h\d>", to_html("## a\n\n#### b\n\n## c\n\n# d")) == ["<h4>", "<h5>", "<h4>", "<h4>"]


def test_what_scrolls_sideways_can_be_reached_by_keyboard() -> None:
    html = to_html("| a |\n|--|\n| 1 |\n\n```\nx\n```")
    assert '<div class="scroll"' in html
    assert html.count('tabindex="0"') == 2


def test_an_image_from_elsewhere_is_a_link() -> None:
    assert to_html("![A cat](https://example.org/cat.png)").startswith(
        '<p><a href="https://example.org/cat.png" rel="noopener nofollow">A cat</a></p>'
    )


@pytest.mark.parametrize("text", ["", "  \n ", "x" * 300_000, "> " * 5000 + "x", "[" * 5000, "*" * 5000, "- " * 3000])
def test_no_text_is_too_much(text: str) -> None:
    check(to_html(text))
