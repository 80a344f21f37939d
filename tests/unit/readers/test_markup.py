from __future__ import annotations

import pytest

from veridical.readers.html import html_to_text
from veridical.readers.markup import (
    MOST_ATTRIBUTES,
    MOST_FORMATTING,
    MOST_OPEN,
    MOST_OPTIONS,
    bounded,
)

SLOPPY = "<p>a<b>b<i>c</b></i><img src=x><ul><li>d<li>e</ul><!-- <div> --><script>'<div>'</script>"


@pytest.mark.parametrize(
    "page",
    [
        SLOPPY * 1000,
        "<div>" * MOST_OPEN + "deep",
        "<div><span>a</div></span>" * 10_000,
        "<p>a<br>" * 10_000,
        "<li>a" * 10_000,
        "<tr><td>a" * 10_000,
        "<b>a</b>" * 10_000,
        "<script>" + "'<div>'" * 10_000 + "</script>",
        "<!--" + "<div>" * 10_000 + "-->",
        "<img src='" + "a=/ " * 10_000 + "'>",
        "<div",
        "a < b && c > d",
    ],
)
def test_a_page_within_the_bounds_stays_as_it_is(page: str) -> None:
    assert bounded(page) == page


def test_tags_beyond_the_bound_are_left_out_with_their_ends_and_no_text_is() -> None:
    depth = MOST_OPEN + 100
    page = "<div>a" * depth + "b</div>" * depth + "<p>c"
    left = bounded(page)
    assert left.count("<div>") == left.count("</div>") == MOST_OPEN
    assert html_to_text(page).replace("\n", "") == "a" * depth + "b" * depth + "c"


def test_formatting_and_options_beyond_the_bound_are_left_out() -> None:
    assert bounded("<b id=1>a" * 100).count("<b") == MOST_FORMATTING
    assert bounded("<option>a" * 5000).count("<option>") == MOST_OPTIONS


def test_a_tag_with_attributes_beyond_the_bound_is_left_without_them() -> None:
    attributes = " ".join(f"x{number}" for number in range(2 * MOST_ATTRIBUTES))
    assert bounded(f"<p {attributes}>a") == "<p>a"
    assert bounded(f"<p {attributes.replace(' ', '/')}>a") == "<p>a"


def test_an_element_that_an_open_one_keeps_from_ending_counts_as_open() -> None:
    page = ("<div>" * MOST_OPEN + "<object>" + "</div>" * MOST_OPEN) * 20 + "a"
    assert bounded(page).count("<div>") < 2 * MOST_OPEN
    assert html_to_text(page) == "a"
