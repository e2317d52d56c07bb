"""How is hostile text made safe to show, in each medium?

Log text is chosen by strangers. Every character that acts instead of being seen (controls, direction marks, zero-width
and tag characters, fillers, lone surrogates) is written out as a visible escape in all media; each medium then quotes
what is special to it. The results are for reading: exact values live in JSON Lines and Parquet.
"""

from __future__ import annotations

import html as _html
import re

_UNSEEN = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers, Arabic letter mark
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero-width, separators, bidirectional controls
    "\u3164\ufeff\uffa0\ufff9-\uffff"  # fillers, byte order mark, interlinear marks, noncharacters
    "\ud800-\udfff"  # lone surrogates cannot be encoded at all
    "\U000e0000-\U000e0fff"  # tags and variation selectors that can carry hidden text
    "]"
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_TICKS = re.compile("`+")
_STARTERS = "=+\\-@\uff1d\uff0b\uff0d\uff20"
# A cell starts at the start of the text, and again after a delimiter if the sheet is opened with another one.
PLAIN = r"[A-Za-z0-9][ -+\x2d-:<-~]*"
"""Text that `spreadsheet` never alters, as a pattern of the whole of it: printable, and without a delimiter."""
_PLAIN = re.compile(PLAIN)
# The writer of workbooks puts text in this element into the file as it is, as markup of its own making.
_RICH = "<r>"
_FORMULA = re.compile(rf"(^|[;,])(\s*(?:[\"']\s*)?)(?=[{_STARTERS}])")


def _visible(found: re.Match[str]) -> str:
    char = found[0]
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def terminal(text: str) -> str:
    """The text on one line, with nothing in it that a terminal would act on."""
    return text if text.isascii() and text.isprintable() else _UNSEEN.sub(_visible, text)


def html(text: str) -> str:
    """The text for an HTML element or a quoted attribute."""
    return _html.escape(terminal(text), quote=True)


def markdown(text: str) -> str:
    """The text as a Markdown code span whose fence is longer than any run of backticks in it; safe in a table cell too."""
    # A backslash before a bar is itself ambiguous in tables, so the bar is written out.
    seen = terminal(text).replace("|", "\\x7c")
    if not seen:
        return "` `"
    fence = "`" * (max((len(run) for run in _TICKS.findall(seen)), default=0) + 1)
    padded = f" {seen} " if seen[0] in "` " or seen[-1] in "` " else seen
    return f"{fence}{padded}{fence}"


def spreadsheet(text: str) -> tuple[str, bool]:
    """The text for a cell that no spreadsheet takes for a formula or for markup, and whether it had to be altered."""
    if _PLAIN.fullmatch(text):
        return text, False  # as nearly every text is
    seen = _FORMULA.sub(r"\1'\2", terminal(text))
    if seen.startswith(_RICH):
        seen = f"'{seen}"
    return seen, seen != text
