"""Which layers and formats does the start of a source show?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kvforensics.layer import is_fragment
from kvforensics.layered import behind_text, looks_like
from kvforensics.made_once import FirstMatch, extractor_of, first_match
from kvforensics.peel import Kind, Peeled, Peeler
from kvforensics.spec import Format
from kvforensics.text_lines import TextReader
from kvforensics.wrapper_spec import Wrapper

LEAST_TEXT = 3
"""Lines of text among records that are too many to be broken records."""


class Sample(Struct, frozen=True):
    """What was seen: (layers, format) and how often, format None where none fits; and lines of text of no known format."""

    seen: int
    kinds: tuple[tuple[tuple[str, ...], str | None, int], ...]
    text_lines: int
    text_formats: int

    @property
    def is_layered(self) -> bool:
        """Whether there are wrappers, text formats, or so much text that it is no accident."""
        wrapped = any(chain for chain, _, _ in self.kinds)
        known = any(name for _, name, _ in self.kinds)
        return wrapped or self.text_formats > 0 or (
            known and self.text_lines >= LEAST_TEXT and 10 * self.text_lines >= self.seen
        )

    @property
    def wrapped(self) -> int:
        """How many lines are in a wrapper."""
        return sum(n for chain, _, n in self.kinds if chain)


def sample_lines(
    lines: Sequence[bytes], formats: Sequence[Format], wrappers: Sequence[Wrapper], newline: bytes | None
) -> Sample:
    """What lines or units hold."""
    return _sample(lambda p: [p.line(line, i, 0) for i, line in enumerate(lines, 1)], len(lines), formats, wrappers, newline)


def sample_rows(rows: Sequence[Any], formats: Sequence[Format], wrappers: Sequence[Wrapper]) -> Sample:
    """What rows of a table hold."""
    return _sample(lambda p: [p.row(row, i, 0, None, ()) for i, row in enumerate(rows, 1)], len(rows), formats, wrappers, None)


def _sample(
    read: Callable[[Peeler], Iterable[Peeled]], seen: int, formats: Sequence[Format], wrappers: Sequence[Wrapper],
    newline: bytes | None,
) -> Sample:  # fmt: skip
    extractors = [extractor_of(f) for f in formats]
    first = first_match(extractors)
    peeled = list(read(Peeler(wrappers, looks_like(first), lambda _: False, newline)))
    kinds: Counter[tuple[tuple[str, ...], str | None]] = Counter()
    other = matched = 0
    texts = [p for p in peeled if p.kind is Kind.TEXT]
    taken, left = TextReader(formats).read([t.data.decode("utf-8", "replace").rstrip("\r\n") for t in texts])
    for rows in taken:
        matched += len(rows.rows)
        kinds.update((texts[i].chain, rows.format.name) for i in rows.rows)
    for i in left:
        behind = behind_text(texts[i].data)
        name = _name(behind[0], first) if behind else None
        matched += name is not None
        other += behind is None and not is_fragment(texts[i].data)
        kinds[texts[i].chain, name] += 1
    for p in peeled:
        if p.kind is Kind.RECORD:
            kinds[p.chain, _name(p.value, first)] += 1
        elif p.chain and p.kind is not Kind.TEXT:
            kinds[p.chain, None] += 1
    return Sample(seen, tuple((chain, name, n) for (chain, name), n in kinds.items()), other, matched)


def _name(value: Any, first: FirstMatch) -> str | None:
    found = first(value)
    return found.format.name if found else None


def fitted(wrappers: Sequence[Wrapper], text: bytes) -> tuple[Wrapper, ...]:
    """The wrappers as this source uses them: where no piece ends as whole ones should, ends say nothing."""
    return tuple(replace(w, ends="") if w.ends and b'\\n"' not in text else w for w in wrappers)


def shown(chain: Sequence[str], name: str | None, wrappers: Sequence[Wrapper]) -> str:
    """The layers and the format in one name, such as `cri > app-json`; a layer that is a log of its own ends it."""
    own = {w.name for w in wrappers if w.is_record}
    names: list[str] = []
    for part in chain:
        names.append(part)
        if part in own:
            return " > ".join(names)
    return " > ".join([*names, *([name] if name else [])])
