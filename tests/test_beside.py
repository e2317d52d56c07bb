"""Work that is done beside the rest gives its result, and its error, where it is asked for."""

from __future__ import annotations

import pytest

from kvforensics.beside import begin_beside
from kvforensics.errors import EvidenceError


def test_the_result_is_waited_for() -> None:
    assert begin_beside(lambda: 7)() == 7


def test_an_error_is_raised_where_the_result_is_asked_for() -> None:
    def fails() -> int:
        raise EvidenceError("cannot be read", where="log")

    result = begin_beside(fails)
    with pytest.raises(EvidenceError, match="cannot be read"):
        result()
