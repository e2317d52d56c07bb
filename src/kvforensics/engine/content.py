"""Does an affected answer share rare word sequences with text of another tenant that is not in its own prompt?

A sequence counts only where exactly one other tenant has it and the receiver's own texts do not: what many write, and what
the receiver wrote itself, proves nothing. The false-positive rate is measured on answers that are not affected, in the same
evidence and by the same rule. Results are scores and keyed digests, never text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp, lgamma, log
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from kvforensics.engine.bodies import Body
from kvforensics.engine.opening import Opening, opening_of, openings
from kvforensics.engine.shingles import WORDS, Hashes, Shingler

SCHEMA = "kvforensics.content/1"
SHARED_AT_LEAST = 4
"""Sequences that have to be shared: a copied run of eleven words has this many."""
MOST_CONTROLS = 5_000
DIGESTS = 5
CONFIDENCE = 0.95
Bodies = Callable[[], Iterator[Body]]


class Match(Struct, frozen=True):
    """One answer and one other tenant. `containment` is the share of the answer's sequences that only they have."""

    rid: str
    tenant: str
    source_tenant: str
    shared: int
    containment: float
    own_containment: float
    digests: tuple[str, ...]
    in_superset: bool | None
    """Whether the replay holds the source tenant possible; None where no replay was given, or it cannot rule him out."""


class Answer(Struct, frozen=True):
    """One affected answer: how many sequences it has, and the share of them that its own prompt has too."""

    rid: str
    tenant: str
    sequences: int
    own_containment: float


class ContentCheck(Struct, frozen=True):
    """Matches in a total order, and how far to trust them."""

    matches: tuple[Match, ...]
    answers: tuple[Answer, ...]
    openings: tuple[dict[str, Any], ...]
    """S11: how affected and other answers open."""
    compared: int
    without_tenant: int
    without_answer: int
    controls: int
    false_positives: int

    @property
    def false_positive_rate_at_most(self) -> float | None:
        """The upper end of a one-sided 95 % interval for the rate on answers that are not affected (Clopper-Pearson)."""
        if not self.controls:
            return None
        low, high = self.false_positives / self.controls, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            likely = _at_most(self.false_positives, self.controls, middle) > 1 - CONFIDENCE
            low, high = (middle, high) if likely else (low, middle)
        return high

    @property
    def exit_status(self) -> int:
        """10 where text of another tenant was found, 12 where no affected answer could be compared, else 0.

        Where a replay was given, text of a tenant that it rules out is shown, but is no find.
        """
        if any(m.in_superset is not False for m in self.matches):
            return 10
        return 0 if self.compared else 12

    def document(self) -> dict[str, Any]:
        """The check as one JSON document; it holds no text."""
        return {
            "schema": SCHEMA,
            "words_in_a_sequence": WORDS,
            "shared_at_least": SHARED_AT_LEAST,
            "compared": self.compared,
            "not_compared": {"tenant_not_told": self.without_tenant, "answer_not_in_evidence": self.without_answer},
            "controls": self.controls,
            "false_positives_among_controls": self.false_positives,
            "false_positive_rate_at_most": self.false_positive_rate_at_most,
            "openings": list(self.openings),
            "answers": [
                {"rid": a.rid, "tenant": a.tenant, "sequences": a.sequences, "own_containment": round(a.own_containment, 4)}
                for a in self.answers
            ],
            "matches": [
                {"rid": m.rid, "tenant": m.tenant, "source_tenant": m.source_tenant, "shared": m.shared,
                 "containment": round(m.containment, 4), "own_containment": round(m.own_containment, 4),
                 "digests": list(m.digests), "in_superset": m.in_superset}
                for m in self.matches
            ],
        }  # fmt: skip


class _Asked(Struct):
    body_tenant: str
    answer: Hashes
    sequences: int
    own: float
    affected: bool


def check_content(
    bodies: Bodies, affected: Mapping[str, Sequence[str | None] | None], key: bytes, first_page_rows: int = 0
) -> ContentCheck:
    """Compare the answers of affected requests with all texts of other tenants; bodies are read twice.

    `affected` gives the tenants of the replay's superset by request id (among them None: anybody), None where there was no
    replay. Up to `first_page_rows` tokens may come from the prefill node, where the superset rules nobody out.
    """
    shingler = Shingler(key)
    told: list[Opening] = []

    def note(body: Body, hit: bool) -> None:  # noqa: FBT001 - whether the answer is an affected one
        told.append(opening_of(body, key, affected=hit))

    asked, without_tenant, seen = _asked(bodies(), affected, shingler, note)
    wanted = np.unique(np.concatenate([a.answer for a in asked.values()])) if asked else np.empty(0, np.uint64)
    # For each wanted sequence the tenant that has it: -1 nobody, -2 several.
    owner = np.full(len(wanted), -1, np.int64)
    tenants: dict[str, int] = {}
    for body in bodies():
        if body.tenant is None or not len(wanted):
            continue
        number = tenants.setdefault(body.tenant, len(tenants))
        # An affected answer may be a copy already, so what it says belongs to nobody.
        text = body.prompt if body.rid in affected else f"{body.prompt}\n{body.answer}"
        hashes = shingler.hashes(text)
        here = np.searchsorted(wanted, hashes)
        here = here[wanted[np.minimum(here, len(wanted) - 1)] == hashes]
        owner[here] = np.where((owner[here] == -1) | (owner[here] == number), number, -2)
    names = list(tenants)
    matches: list[Match] = []
    false_positives = 0
    for rid, one in sorted(asked.items()):
        hits = list(_matches(rid, one, wanted, owner, names, affected.get(rid), first_page_rows))
        if one.affected:
            matches += hits
        else:
            false_positives += bool(hits)
    count = sum(a.affected for a in asked.values())
    return ContentCheck(
        matches=tuple(matches),
        answers=tuple(Answer(rid, a.body_tenant, a.sequences, a.own) for rid, a in sorted(asked.items()) if a.affected),
        openings=openings(told),
        compared=count,
        without_tenant=without_tenant,
        without_answer=len(affected) - seen,
        controls=len(asked) - count,
        false_positives=false_positives,
    )


def _asked(
    bodies: Iterator[Body], affected: Mapping[str, Any], shingler: Shingler, opens: Callable[[Body, bool], None]
) -> tuple[dict[str, _Asked], int, int]:
    asked: dict[str, _Asked] = {}
    without_tenant = seen = controls = 0
    for body in bodies:
        is_affected = body.rid in affected
        if not body.answer or (not is_affected and controls >= MOST_CONTROLS):
            continue
        seen += is_affected
        opens(body, is_affected)
        if body.tenant is None:
            without_tenant += is_affected
            continue
        answer, prompt = shingler.hashes(body.answer), shingler.hashes(body.prompt)
        foreign = np.setdiff1d(answer, prompt, assume_unique=True)
        own = 1 - len(foreign) / len(answer) if len(answer) else 0.0
        controls += not is_affected
        asked[body.rid] = _Asked(body.tenant, foreign, len(answer), own, is_affected)
    return asked, without_tenant, seen


def _matches(
    rid: str,
    one: _Asked,
    wanted: Hashes,
    owner: npt.NDArray[np.int64],
    names: Sequence[str],
    superset: Sequence[str | None] | None,
    first_page_rows: int,
) -> Iterator[Match]:
    owners = owner[np.searchsorted(wanted, one.answer)]
    total = max(len(one.answer), 1)
    for number in np.unique(owners[owners >= 0]).tolist():
        name = names[number]
        shared = one.answer[owners == number]
        if name == one.body_tenant or len(shared) < SHARED_AT_LEAST:
            continue
        yield Match(
            rid=rid,
            tenant=one.body_tenant,
            source_tenant=name,
            shared=len(shared),
            containment=len(shared) / total,
            own_containment=one.own,
            digests=tuple(f"{value:016x}" for value in shared[:DIGESTS].tolist()),
            in_superset=_holds(superset, name, beyond=len(shared) > first_page_rows),
        )


def _holds(superset: Sequence[str | None] | None, name: str, *, beyond: bool) -> bool | None:
    """Whether the superset holds a tenant possible; it can rule out only text `beyond` what the first page can hold."""
    if superset is not None and name in superset:
        return True
    return False if superset is not None and None not in superset and beyond else None


def _at_most(count: int, trials: int, rate: float) -> float:
    """The chance of at most `count` in `trials` at a rate."""
    if rate <= 0 or rate >= 1:
        return 1.0 if rate <= 0 else float(count >= trials)
    return sum(
        exp(lgamma(trials + 1) - lgamma(k + 1) - lgamma(trials - k + 1) + k * log(rate) + (trials - k) * log(1 - rate))
        for k in range(count + 1)
    )
