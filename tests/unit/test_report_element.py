"""Elements and Markdown: whatever the text, it is text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.core.text import visible
from rsi_master.interfaces.report.document import (
    Cite,
    Code,
    Link,
    Row,
    Section,
    Strong,
    Table,
    cut,
)
from rsi_master.interfaces.report.document import Document as Doc
from rsi_master.interfaces.report.element import element, text
from rsi_master.interfaces.report.html import html
from rsi_master.interfaces.report.markdown import escaped, markdown
from rsi_master.testing.page import Page

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "\x1b[31mred\x1b]8;;http://evil\x07",
    "</style><style>*{display:none}",
    "</title></head>",
    "]]>--><!--",
    "&lt;script&gt;",
    "[here](javascript:alert(1)) | `code` **bold** # head",
    "\u202eevil\u2066",
    "\ud800",
    "line\nline\r\n| a | b |\n|---|---|",
)


@given(st.text() | st.sampled_from(HOSTILE))
def test_text_is_read_back_as_text(words: str) -> None:
    page = Page(str(element("p", words, id=words)))
    (found,) = page.root.all()
    shown = "\n".join(map(visible, words.split("\n")))
    assert "".join(map(str, found.children)) == shown
    assert found.attributes["id"] == shown


@pytest.mark.parametrize("tag", ["script", "iframe", "img", "style", "foreignObject", "p onclick"])
def test_what_runs_or_loads_is_no_element(tag: str) -> None:
    with pytest.raises(ValueError, match="is no element"):
        element(tag)


@pytest.mark.parametrize("name", ["onclick", "style", "src", "fill"])
def test_what_runs_or_loads_is_no_attribute(name: str) -> None:
    with pytest.raises(ValueError, match="is no attribute"):
        element("p", **{name: "x"})


@pytest.mark.parametrize("address", ["javascript:alert(1)", "https://host", "//host", "page.html"])
def test_a_reference_stays_within_the_page(address: str) -> None:
    with pytest.raises(ValueError, match="leads out"):
        element("a", href=address)


def test_numbers_are_written_short() -> None:
    assert str(element("rect", x=1.0, y=0.25, width=1234.56)) == (
        '<rect x="1" y="0.2" width="1234.6"></rect>'
    )


def test_control_characters_are_blank() -> None:
    assert text("a\x1b[1mb\x00c\u202ed") == "a [1mb c d"


@given(st.text() | st.sampled_from(HOSTILE))
def test_markdown_makes_no_markup_of_text(words: str) -> None:
    told = escaped(words)
    assert not re.search(r"[<>\n\r\x1b]", told)
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]|]", told)
    assert not re.search(r"(?i)https?://|www\.", told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("label: ", "**label:** "),
        (" is better: ", " **is better:** "),
        (" \n", "  "),
        ("\n# a*b", " **\\# a\\*b**"),
    ],
)
def test_blanks_at_the_ends_of_strong_words_stand_outside(text: str, told: str) -> None:
    document = Doc("Report", ("so ", Strong(text), "x"), None, ())
    assert f"\n\nso {told}x\n" in markdown(document)


def test_markdown_keeps_what_numbers_look_like() -> None:
    assert escaped("36.2 % (32.0 to 41.4)") == "36.2 % (32.0 to 41.4)"
    assert escaped("1. no list") == r"1\. no list"
    assert escaped("- no list") == r"\- no list"
    assert escaped("# no head") == r"\# no head"


def test_a_document_is_the_same_in_both_forms() -> None:
    row = Row((("a|b",), (Link("there", "here"), " ", Cite(3), " ", Code("x_y"))), "here")
    section = Section("Title", "s", (Table("What", ("one", "two"), (row,)),))
    document = Doc("Report", ("lead",), ("NOT ISOLATED", "nothing held"), (section,))
    assert document.cited() == (3,)
    page = Page(html(document))
    assert page.by_id("here").text() == "a|b there event 3 x_y"
    assert page.references() == {"#s", "#here", "#event-3"}
    told = markdown(document)
    assert told.startswith("## NOT ISOLATED\n\nnothing held\n\n# Report\n\nlead\n\n")
    assert r'| <a id="here"></a>a\|b | [there](#here) [event 3](#event-3) x\_y |' in told


def test_what_is_cut_says_so() -> None:
    assert cut("x" * 400) == "x" * 400
    assert cut("x" * 401) == "x" * 399 + "…"
    assert cut("a\n\tb\x1b[0m") == "a b [0m"
