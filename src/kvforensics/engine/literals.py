"""Which keys and values does the repr of a Python object show?

`Name(key=value, ...)` and `{'key': value, ...}` are scanned with respect for quotes and brackets, never evaluated: what a
prompt inside a quoted value says is not taken for a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

Literal = str | int | float | bool | None
_KEY = re.compile(r"\s*(?:([A-Za-z_]\w*)=|'([A-Za-z_][\w\-]*)'\s*:\s*|\"([A-Za-z_][\w\-]*)\"\s*:\s*)")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")
_WORDS: Mapping[str, Literal] = {"None": None, "True": True, "False": False, "null": None, "true": True, "false": False}
_CLOSERS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_STOP = re.compile(r"['\"()\[\]{}<>,]")
_QUOTE_END = {"'": re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL), '"': re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL)}


def pairs(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Key, start and end of each value from `at` on, which is behind the opening bracket.

    The last one is `("", end, end)`, where `end` is the place of the closing bracket, or -1 where the text breaks off.
    """
    while True:
        found = _KEY.match(text, at)
        if not found:
            place = at if text[at : at + 1] in (")", "}") else -1
            yield "", place, place
            return
        end = _value_end(text, found.end())
        if end is None:
            yield "", -1, -1
            return
        yield found[1] or found[2] or found[3], found.end(), end
        at = end + 1 if text[end : end + 1] == "," else end


def _value_end(text: str, at: int) -> int | None:
    """Where the value ends: at a comma or a closing bracket of its own level; None where the text ends first."""
    closers: list[str] = []
    while stop := _STOP.search(text, at):
        char, at = stop[0], stop.end()
        if char in _QUOTE_END:
            quoted = _QUOTE_END[char].match(text, at)
            if not quoted:
                return None
            at = quoted.end()
        elif closers and char == closers[-1]:
            closers.pop()
        elif char in _CLOSERS:
            closers.append(_CLOSERS[char])
        elif not closers and char in ",)}":
            return at - 1
    return None


def scalar(text: str) -> tuple[bool, Literal]:
    """Whether the text is a plain value, and the value. Whole numbers stay whole, however long."""
    text = text.strip()
    if text in _WORDS:
        return True, _WORDS[text]
    if _NUMBER.fullmatch(text):
        return True, int(text) if text.lstrip("+-").isdigit() and len(text) < 20 else float(text)
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return True, text[1:-1]
    return False, None
