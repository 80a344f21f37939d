from __future__ import annotations

import pytest

from veridical.readers.html import html_to_text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>One<b>two</b> three &amp; &lt;four&gt;", "Onetwo three & <four>"),
        ("<h1>Title</h1><p>First.</p><p>Second.</p>", "Title\n\nFirst.\n\nSecond."),
        ("<div>a<div>b</div>c</div>", "a\nb\nc"),
        ("line<br>next", "line\nnext"),
        ('see <a href="x">the page</a>.', "see the page."),
        ("<ul><li>a</li><li><p>b</p></li></ul>", "- a\n\n- b"),
        ("<ul><li>a<ul><li>b</li></ul></li></ul>", "- a\n  - b"),
        ("<ul><li></li></ul>after", "after"),
        (
            "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
            "a | b\n1 | 2",
        ),
        ("<table><tr><td>1<td><td>3</table>", "1 | | 3"),
        ("<table><tr><td><p>x</p><p>y</p></td><td>z</td></tr></table>", "x y | z"),
        ("<table><tr><td>A<td><ul><li>8 lanes<li>5 km</ul></table>", "A | - 8 lanes - 5 km"),
        ("10<sup>6</sup> cells in 2019<sup>3</sup>, 10<sup>-2</sup>", "10⁶ cells in 2019³, 10⁻²"),
        ("the 5<sup>th</sup>, H<sub>2</sub>O", "the 5th, H2O"),
        ("<pre>\n  a\n\n    b\n</pre>c", "  a\n\n    b\n\nc"),
        ("no\u00a0break  and\n\tspaces", "no\u00a0break and spaces"),
        ("&#x1F600; e&#x301; &rlm;\u05d0", "\U0001f600 e\u0301 \u200f\u05d0"),
    ],
)
def test_readable_text_keeps_its_structure(html: str, text: str) -> None:
    assert html_to_text(html) == text


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>hidden()</script>",
        "<style>hidden {}</style>",
        "<template>hidden</template>",
        "<noscript>hidden</noscript>",
        "<textarea>hidden</textarea>",
        "<!-- hidden -->",
        "<p hidden>hidden</p>",
        '<p style="color: red; Display : none">hidden</p>',
        '<span aria-hidden="true">hidden</span>',
        "<svg><text>hidden</text></svg>",
    ],
)
def test_what_no_reader_sees_is_left_out(hidden: str) -> None:
    page = f"<html><head><title>hidden</title></head><body>seen{hidden}</body></html>"
    assert html_to_text(page) == "seen"


def test_a_table_used_for_layout_keeps_its_rows_apart() -> None:
    inner = "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>"
    page = f"<table><tr><td>{inner}</td><td>side</td></tr></table>"
    assert html_to_text(page) == "a | b\nc | d\n\nside"


def test_deep_nesting_does_not_exhaust_the_stack() -> None:
    assert html_to_text("<div>" * 5000 + "deep") == "deep"
