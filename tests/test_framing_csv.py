"""Rows of delimited text."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvforensics import framing_csv
from kvforensics.csv_rows import frame_of, read_cells, split_rows
from kvforensics.framing import Block
from kvforensics.framing_csv import Dialect, Rows, csv_blocks, parse_rows, sniff_dialect

AB = Dialect(columns=("a", "b"))


class Dribble:
    """A stream that gives pieces of its own size."""

    def __init__(self, data: bytes, size: int) -> None:
        self._pieces = [data[i : i + size] for i in range(0, len(data), size)]

    def read(self, _size: int = -1, /) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


def read(
    data: bytes, dialect: Dialect = AB, size: int = 1 << 20
) -> tuple[list[list[str | None]], list[tuple[int, str]]]:
    rows: list[list[str | None]] = []
    rejects: list[tuple[int, str]] = []
    for block in csv_blocks(io.BytesIO(data), dialect, size):
        parsed = parse_rows(block, dialect)
        rows += [list(r) for r in parsed.frame.rows()]
        rejects += [(r.line, r.reason) for r in parsed.rejects]
    return rows, rejects


def add_up(data: bytes, blocks: list[Block], dialect: Dialect) -> None:
    at, line = (3 if data.startswith(b"\xef\xbb\xbf") else 0), 1
    for block in blocks:
        assert (block.offset, block.first_line) == (at, line)
        parsed = parse_rows(block, dialect)
        assert parsed.frame.height + len(parsed.rejects) + parsed.blank + parsed.framing == block.lines
        assert parsed.frame.height == len(parsed.lines) == len(parsed.offsets) == len(parsed.lengths)
        assert all(line <= n < line + block.lines for n in parsed.lines)
        places = list(zip(parsed.offsets, parsed.lengths, strict=True)) + [(r.offset, r.length) for r in parsed.rejects]
        assert all(at <= o and o + n <= at + block.length for o, n in places)
        assert all(data[r.offset : r.offset + r.length].startswith(r.data) for r in parsed.rejects)
        at, line = at + block.length, line + block.lines
    assert at == max(len(data), at)


PIECES = st.lists(
    st.sampled_from(
        [b"a", b",", b",", b'"', b'""', b"\n", b"\r\n", b"\r", b" ", b"\xff", b"\x00", b"\xc3\xa9", b"x,y\n"]
    ),
    max_size=50,
).map(b"".join)


@given(PIECES, st.integers(1, 12), st.integers(1, 12), st.booleans(), st.sampled_from([b"\n", b"\r"]))
def test_any_bytes_are_cut_into_rows_that_add_up_the_same_in_any_pieces(
    data: bytes, size: int, block: int, header: bool, newline: bytes
) -> None:
    dialect = Dialect(header=header, columns=("a", "b"), newline=newline)
    small = list(csv_blocks(Dribble(data, size), dialect, block))
    large = list(csv_blocks(io.BytesIO(data), dialect))
    add_up(data, small, dialect)
    add_up(data, large, dialect)
    assert sum(b.lines for b in small) == sum(b.lines for b in large)

    def content(blocks: list[Block]) -> list[object]:
        found: list[object] = []
        for b in blocks:
            p = parse_rows(b, dialect)
            found += zip(p.lines, p.offsets, p.lengths, p.frame.rows(), strict=True)
            found += [(r.line, r.offset, r.length, r.reason) for r in p.rejects]
        return sorted(found, key=repr)

    assert content(small) == content(large)


CELLS = st.text(st.sampled_from('ab",;\n\r\t |é\x00#'), max_size=6)


@given(
    st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=12), st.sampled_from([",", ";", "\t", "|"]), st.integers(1, 40),
    st.sampled_from(["\r\n", "\n"]), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)  # fmt: skip
def test_what_a_correct_writer_writes_is_read_back(
    rows: list[tuple[str, str, str]], delimiter: str, size: int, end: str, quoting: int
) -> None:
    if end == "\n" and quoting == csv.QUOTE_MINIMAL:  # such a writer puts no quotes around a bare CR
        rows = [(a.replace("\r", ""), b.replace("\r", ""), c.replace("\r", "")) for a, b, c in rows]
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows([("h1", "h2", "h3"), *rows])
    dialect = Dialect(delimiter.encode(), columns=("h1", "h2", "h3"))
    found, rejects = read(text.getvalue().encode(), dialect, size)
    assert found == [[c or None for c in row] for row in rows]
    assert rejects == []


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8), st.sampled_from(["\r\n", "\n"]))
def test_the_fast_reader_and_the_careful_one_agree(rows: list[tuple[str, str]], end: str) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator=end).writerows(rows)
    dialect = Dialect(header=False, columns=("a", "b"))
    data = text.getvalue().encode()
    parsed = parse_rows(Block(data, 1, 0, len(rows)), dialect)
    careful = frame_of(read_cells(split_rows(data, dialect), dialect), dialect)
    assert parsed.frame.equals(careful)


def test_the_fast_reader_is_used_for_regular_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> list[list[str]]:
        raise AssertionError

    monkeypatch.setattr(framing_csv, "read_cells", refuse)
    parsed: Rows = parse_rows(Block(b'a,b\r\n1,"x,\r\ny""z"\r\n,\r\n', 1, 0, 3), AB)
    assert parsed.frame.rows() == [("1", 'x,\r\ny"z'), (None, None)]
    assert (parsed.lines, parsed.offsets, parsed.lengths, parsed.framing) == ([2, 3], [5, 19], [14, 3], 1)


@pytest.mark.parametrize(
    ("data", "rows", "rejects"),
    [
        (b"a,b\n1,2\n", [["1", "2"]], []),
        (b"a,b\n1,2", [["1", "2"]], []),
        (b"\xef\xbb\xbfa,b\r\n1,2\r\n", [["1", "2"]], []),
        (b'a,b\n1,"x\ny"\n', [["1", "x\ny"]], []),
        (b"a,b\n1\n2,3,4\n5,6\n", [["5", "6"]], [(2, "wrong_columns"), (3, "wrong_columns")]),
        (b"a,b\n\n \n1,2\n", [["1", "2"]], []),
        (b'a,b\n5" disk,2\n1,a"b\n', [['5" disk', "2"], ["1", 'a"b']], []),
        (b'a,b\n"x" y,2\n', [["x y", "2"]], []),
        (b'a,b\n1,"open\n2,3\n4,5\n', [["2", "3"], ["4", "5"]], [(2, "unterminated_quote")]),
        (b'a,b\n1,"open\n2,"x"\n4,5\n', [["2", "x"], ["4", "5"]], [(2, "unterminated_quote")]),
        (b'a,b\n1,"open', [], [(2, "unterminated_quote")]),
        (b"a,b\n\xff,2\n", [[None, "2"]], []),
        (b"a,b\n1,x\ry\n", [["1", "x\ry"]], []),
        (b"", [], []),
    ],
)
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_rows_and_rejects(data: bytes, rows: list[list[str | None]], rejects: list[tuple[int, str]], size: int) -> None:
    assert read(data, AB, size) == (rows, rejects)


def test_a_cell_that_is_no_utf_8_is_unknown_and_named() -> None:
    parsed = parse_rows(Block(b"1,2\n\xff,2\n", 2, 10, 2), AB)
    assert parsed.frame.rows() == [("1", "2"), (None, "2")]
    assert parsed.reasons == {1: ("invalid_utf8",)}


def test_a_quote_that_runs_away_costs_one_line_and_not_the_file() -> None:
    data = b'a,b\n1,"open\n' + b"2,3\n" * 5000
    blocks = list(csv_blocks(io.BytesIO(data), AB, 100, max_quoted=1000))
    assert sum(b.lines for b in blocks) == 5002
    assert [b.reject for b in blocks if b.reject] == ["unterminated_quote"]
    add_up(data, blocks, AB)


def test_one_endless_line_is_given_up_at_the_limit() -> None:
    data = b"a,b\n" + b"x" * 5000 + b"\n1,2\n"
    blocks = list(csv_blocks(Dribble(data, 10), AB, 100, max_quoted=100, max_line=1000))
    assert [(b.reject, b.lines) for b in blocks if b.reject] == [("oversize", 1)]
    add_up(data, blocks, AB)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_and_the_header_are_found(delimiter: str) -> None:
    text = f'id{delimiter}created at{delimiter}note\n1{delimiter}2026-09-01{delimiter}"x,;|\ny"\n'.encode()
    dialect = sniff_dialect(text)
    assert dialect is not None
    assert (dialect.delimiter.decode(), dialect.header, dialect.columns) == (
        delimiter,
        True,
        ("id", "created at", "note"),
    )


@pytest.mark.parametrize(
    ("head", "header"),
    [
        (b"id,ts\n1,2\n", True),
        (b"1,2\n3,4\n", False),
        (b"x,2026-09-01T00:00:00Z\n", False),
        (b"a,a\n1,2\n", False),
        (b"a,\n1,2\n", False),
    ],
)
def test_a_header_has_unique_names_that_are_neither_numbers_nor_times(head: bytes, header: bool) -> None:
    dialect = sniff_dialect(head)
    assert dialect is not None
    assert dialect.header is header
    assert len(dialect.columns) == 2


@pytest.mark.parametrize("head", [b"", b"one column\nonly\n", b"\n\n"])
def test_text_of_one_column_is_no_delimited_text(head: bytes) -> None:
    assert sniff_dialect(head) is None
