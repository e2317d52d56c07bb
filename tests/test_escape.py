"""Is hostile text harmless in each medium, and still to be read?"""

from __future__ import annotations

import html as stdlib_html
import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvforensics.escape import html, markdown, spreadsheet, terminal

ANY = st.text(alphabet=st.characters(codec=None), max_size=60)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text é 模型", "plain text é 模型"),
        ("\x1b]8;;http://x\x07", "\\x1b]8;;http://x\\x07"),
        ("\x1b]52;c;AAAA\x9c", "\\x1b]52;c;AAAA\\x9c"),
        ("a\r\nb\tc", "a\\r\\nb\\tc"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("x\U000e0041\U000e007f", "x\\U000e0041\\U000e007f"),
        ("\ud800", "\\ud800"),
        ("\x7f\x85", "\\x7f\\x85"),
    ],
)
def test_what_acts_instead_of_being_seen_is_written_out(text: str, shown: str) -> None:
    assert terminal(text) == shown


@settings(derandomize=True, deadline=None)
@given(ANY)
def test_terminal_text_is_one_encodable_line_without_controls(text: str) -> None:
    shown = terminal(text)
    shown.encode()
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in shown)
    assert not re.search("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\U000e0000-\U000e007f]", shown)
    assert terminal(shown) == shown


@settings(derandomize=True, deadline=None)
@given(ANY)
def test_html_text_holds_no_markup_and_reads_back(text: str) -> None:
    safe = html(text)
    assert not set("<>\"'") & set(safe)
    assert stdlib_html.unescape(safe) == terminal(text)


@settings(derandomize=True, deadline=None)
@given(ANY)
def test_a_markdown_span_is_never_closed_by_its_own_text(text: str) -> None:
    span = markdown(text)
    fence = re.match("`+", span)
    assert fence
    assert "|" not in span
    inner = span[len(fence[0]) : -len(fence[0])]
    assert span.endswith(fence[0])
    assert all(len(run) < len(fence[0]) for run in re.findall("`+", inner))
    assert not inner.startswith("`")
    assert not inner.endswith("`")


def test_a_markdown_span_of_nothing_is_still_a_span() -> None:
    assert markdown("") == "` `"
    assert markdown("a``b") == "```a``b```"
    assert markdown("`a") == "`` `a ``"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@cf/zai-org/glm-5.3", "'@cf/zai-org/glm-5.3"),
        ("\uff1dcmd", "'\uff1dcmd"), ("  =1", "'  =1"), ('"=1', "'\"=1"), ("a;=1", "a;'=1"), ("<r>&</r>", "'<r>&</r>"),
        ("\t=1", "\\t=1"), ("\r=1", "\\r=1"), ("\n=1", "\\n=1"),
    ],
)  # fmt: skip
def test_no_cell_starts_a_formula_and_the_alteration_is_told(text: str, cell: str) -> None:
    assert spreadsheet(text) == (cell, True)


def test_a_harmless_cell_is_left_alone() -> None:
    assert spreadsheet("team-atlas 2026-08-27") == ("team-atlas 2026-08-27", False)


@settings(derandomize=True, deadline=None)
@given(ANY)
def test_a_cell_that_is_told_unaltered_is_the_text_itself(text: str) -> None:
    cell, altered = spreadsheet(text)
    assert altered == (cell != text)
    assert cell.lstrip(" \"'")[:1] not in set("=+-@") or cell.lstrip(" ").startswith(("'", '"'))
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
