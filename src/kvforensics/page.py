"""What does a report say, whatever the medium?

A page is sections of blocks. Our own words are plain `str`; text of strangers is always `Quoted`, so that every medium
knows what to escape. Counts stay numbers, digests and instants stay what they are, and what is not known is None.
"""

from __future__ import annotations

from msgspec import Struct

LONGEST_QUOTE = 256
"""Characters of a stranger's text that a report shows; the exact value is in the JSON and in the case."""
UPRIGHT_COLUMNS = 7
"""The most columns of a table on upright paper."""
SHORT_TABLE = 15
"""Rows up to which a table of details stands open."""


class Quoted(Struct, frozen=True):
    """Text of strangers, not escaped yet. `cut` is how many characters were left out at its end.

    `sentence` is for words that the tool wrote into a case, which by now may be anybody's: they read as text, not as a name.
    """

    text: str
    cut: int = 0
    sentence: bool = False


class Code(Struct, frozen=True):
    """A digest, a command, or a name that the tool made: shown in a fixed width and broken anywhere."""

    text: str


class Link(Struct, frozen=True):
    """A file beside the report; `text` says what it is."""

    text: str
    file: str


Span = str | Quoted | Code | Link
Cell = Span | int | float | None
Line = tuple[Span, ...]


def quoted(text: str | None) -> Quoted | None:
    """A stranger's text, cut to what a report shows."""
    if text is None:
        return None
    return Quoted(text[:LONGEST_QUOTE], max(0, len(text) - LONGEST_QUOTE))


def stored(text: str | None) -> Quoted | None:
    """A sentence that a case keeps, cut to what a report shows."""
    if text is None:
        return None
    return Quoted(text[:LONGEST_QUOTE], max(0, len(text) - LONGEST_QUOTE), sentence=True)


class Paragraph(Struct, frozen=True):
    """One paragraph. `tone` is `plain`, `lead` (the answer) or `note`."""

    line: Line
    tone: str = "plain"


class Bullets(Struct, frozen=True):
    """A list without order."""

    lines: tuple[Line, ...]


class Terms(Struct, frozen=True):
    """Words and what they mean."""

    pairs: tuple[tuple[str, str], ...]


class Column(Struct, frozen=True):
    """One column. `key` names it for programs, `empty` is shown where a cell is None, `wide` gives it more room."""

    key: str
    title: str
    empty: str = "not told"
    wide: bool = False


class Table(Struct, frozen=True):
    """A table whose first column names its rows.

    `sortable` is where a reader may want another order. `details` are for those who want to follow a number up: where they
    are long, a medium may show them on demand, or only their beginning, and says so.
    """

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    sortable: bool = False
    details: bool = False

    @property
    def folded(self) -> bool:
        """Whether it is long and for few readers."""
        return self.details and len(self.rows) > SHORT_TABLE

    def numeric(self, place: int) -> bool:
        """Whether a column holds numbers, or nothing, in every row."""
        cells = [row[place] for row in self.rows]
        return any(cell is not None for cell in cells) and all(
            cell is None or isinstance(cell, int | float) for cell in cells
        )


def rest(count: int) -> str:
    """What stands under a table that a medium cuts by this many rows; nothing where it cuts none."""
    if count <= 0:
        return ""
    return f"{count:,} more {'row is' if count == 1 else 'rows are'} in the HTML and JSON reports."


class Series(Struct, frozen=True):
    """Counts of one kind, one for each interval between two edges."""

    name: str
    counts: tuple[int, ...]


class TimeBars(Struct, frozen=True):
    """Counts over time, one panel for each group of series. Instants are microseconds since 1970."""

    id: str
    title: str
    alt: str
    edges_us: tuple[int, ...]
    panels: tuple[tuple[str, tuple[Series, ...]], ...]
    window_us: tuple[int, int]
    tail_until_us: int
    events_us: tuple[int, ...]


class TokenBars(Struct, frozen=True):
    """Counts over prompt tokens: the whole range, and close to the threshold."""

    id: str
    title: str
    alt: str
    panels: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]
    """Title, edges in tokens, counts."""
    threshold: int
    uncertain_from: int


class HeatMap(Struct, frozen=True):
    """How busy each row is over time: the share of minutes with a record, 0 to 1, one cell for each interval."""

    id: str
    title: str
    alt: str
    edges_us: tuple[int, ...]
    labels: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]
    window_us: tuple[int, int]
    tail_until_us: int
    gaps_us: tuple[tuple[int, int], ...]


Chart = TimeBars | TokenBars | HeatMap


class Figure(Struct, frozen=True):
    """A chart with the same data as a table beside it."""

    chart: Chart
    table: Table


Block = Paragraph | Bullets | Terms | Table | Figure


class Section(Struct, frozen=True):
    """A part of the page. `id` is stable: links and programs use it."""

    id: str
    title: str
    blocks: tuple[Block, ...]

    @property
    def broad(self) -> bool:
        """Whether it has a table with so many columns that paper is better turned."""
        return any(isinstance(block, Table) and len(block.columns) > UPRIGHT_COLUMNS for block in self.blocks)


class Page(Struct, frozen=True):
    """All that is said. `kind` is `report`, `notice` or `worksheet`; `facts` are the lines under the title."""

    kind: str
    title: str
    subject: Span
    verdict: str
    facts: tuple[tuple[str, Line], ...]
    sections: tuple[Section, ...]
