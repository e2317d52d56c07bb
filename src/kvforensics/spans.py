"""What is left of some stretches of time, with others added or taken away?

Pure. Spans are half-open pairs of microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Span = tuple[int, int]


def union(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The union of half-open spans, sorted."""
    out: list[Span] = []
    for a, b in sorted(spans):
        if out and a <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], b))
        else:
            out.append((a, b))
    return tuple(out)


def subtract(spans: Sequence[Span], taken: Sequence[Span]) -> tuple[Span, ...]:
    """What is left of sorted half-open spans without others; both free of overlaps."""
    out: list[Span] = []
    at = 0
    for start, end in spans:
        begin = start
        while at < len(taken) and taken[at][1] <= begin:
            at += 1
        i = at
        while i < len(taken) and taken[i][0] < end:
            if taken[i][0] > begin:
                out.append((begin, taken[i][0]))
            begin = max(begin, taken[i][1])
            i += 1
        if begin < end:
            out.append((begin, end))
    return tuple(out)


def intersect(spans: Sequence[Span], others: Sequence[Span]) -> tuple[Span, ...]:
    """What spans and others have in common, sorted."""
    pairs = ((max(a, c), min(b, d)) for a, b in spans for c, d in others)
    return tuple(sorted((a, b) for a, b in pairs if a < b))
