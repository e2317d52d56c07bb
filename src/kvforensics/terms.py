"""Which of several conditions does a parsed record meet?

A term is a path that must lead to something (`usage.model`), one that must not (`!parent_id`), or one whose value must
have a form, where `*` stands for anything (`run_type=llm`, `name=ai.*.do*`). A path that leads to null leads to nothing.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from kvforensics.paths import compile_path, lookup, text_of


class Term(Struct, frozen=True):
    """One condition on one path."""

    steps: tuple[str, ...]
    wanted: bool
    form: re.Pattern[str] | None

    def holds(self, record: Any) -> bool:
        """Whether the record meets it."""
        value = lookup(record, self.steps)
        if self.form is None:
            return (value is not None) is self.wanted
        text = text_of(value)
        return (text is not None and self.form.match(text.casefold()) is not None) is self.wanted


def compile_term(text: str) -> Term:
    """The term that a text writes; values are compared without case."""
    path, equals, form = text.removeprefix("!").partition("=")
    pattern = re.compile(fnmatch.translate(form.casefold())) if equals else None
    return Term(compile_path(path), not text.startswith("!"), pattern)


def compile_terms(alternatives: Sequence[Sequence[str]]) -> tuple[tuple[Term, ...], ...]:
    """All terms of all alternatives."""
    return tuple(tuple(compile_term(t) for t in terms) for terms in alternatives)


def meets(record: Any, alternatives: Sequence[Sequence[Term]]) -> bool:
    """Whether every term of one alternative holds."""
    return any(all(term.holds(record) for term in terms) for terms in alternatives)
