"""At which rate was each source sampled, and what do totals behind the samples look like?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from kvforensics.errors import UsageError
from kvforensics.estimate import Number, Stratum, chao1, none_seen, total, totals
from kvforensics.globs import fits

MOST_STRATA = 50
_RATE = re.compile(r"\s*(?:(\d+(?:\.\d+)?|\.\d+)(%)?|(\d+)\s*/\s*(\d+))\s*")
METHOD = "Horvitz-Thompson, exact binomial inversion at 95 %"
INDEPENDENT = "each call was kept by chance, independently of the others, at the stated rate"


class Rated(Struct, frozen=True):
    """One stated rate: the glob of the sources that it is for (None for all), and the rate."""

    glob: str | None
    rate: float


class Sampled(Struct, frozen=True):
    """What sampling leaves of the counts. Numbers are None where nothing is sampled or a rate is not known."""

    strata: tuple[Stratum, ...]
    responses: Number | None
    tenants: Number | None
    chao1: Number | None
    none_seen_upper: int | None


def read_rate(text: str) -> Rated:
    """`RATE` or `GLOB=RATE`, the rate as 0.01, 1 % or 1/100. Raises `UsageError`."""
    glob, equals, value = text.rpartition("=")
    found = _RATE.fullmatch(value)
    rate = 0.0
    if found and bool(equals) == bool(glob):
        if found[1]:
            rate = float(found[1]) / (100 if found[2] else 1)
        elif int(found[4]):
            rate = int(found[3]) / int(found[4])
    if not 0 < rate <= 1:
        raise UsageError(
            f"{text!r} is no sampling rate", where="--sample-rate", advice="write it as 0.01, 1% or 1/100, or GLOB=0.01"
        )
    return Rated(glob or None, rate)


def rate_of(source: str, rates: Sequence[Rated]) -> float | None:
    """The rate of a source: the smallest that fits, as nested samplers keep the smaller part and do not multiply."""
    return min((r.rate for r in rates if fits(r.glob, source)), default=None)


def estimated(
    rows: Sequence[Mapping[str, float]], rates: Sequence[float], sightings: Sequence[int], *, by: str
) -> Sampled:
    """The totals behind strata.

    `rows` are the strata seen, `rates` every rate that was in force: one at which nothing was seen has an upper end too.
    `sightings` is how often each affected tenant was seen; `by` says what the sampler drew, `request` or `tenant`.
    """
    seen = {row["rate"]: row for row in rows}
    every = sorted({*rates, *seen}, reverse=True)
    if all(rate >= 1 for rate in every) or len(every) > MOST_STRATA:
        return Sampled((), None, None, None, None)
    none: Mapping[str, float] = {"observed": 0, "flagged": 0, "tenants": 0, "flagged_tenants": 0}
    strata = tuple(_stratum(r, seen.get(r, none), "observed", "flagged") for r in every)
    nothing = sum(s.flagged for s in strata) == 0
    chancy = [s.rate for s in strata if s.rate < 1]
    upper = sum(none_seen(rate, 0.05 / len(chancy)) for rate in chancy) if nothing else None
    if by == "tenant":
        groups = [_stratum(r, seen.get(r, none), "tenants", "flagged_tenants") for r in every]
        return Sampled(strata, _clustered(strata), _of_tenants(groups), None, upper)
    found = totals(strata)
    assumed = INDEPENDENT + ("; the levels of several rates are shared out (Bonferroni)" if len(chancy) > 1 else "")
    responses = Number(found.value, found.lower, found.upper, METHOD, assumed, estimated=True)
    unseen = found.upper - sum(s.flagged for s in strata)
    known, low, high = chao1(sightings)
    tenants = Number(
        None, len(sightings), sum(int(seen.get(r, none)["flagged_tenants"]) for r in every) + unseen,
        "observed tenants, and one more for every response that the sample may have missed", assumed, estimated=True,
    )  # fmt: skip
    guess = Number(
        known, low, None, f"Chao1; its own interval reaches to {high:.1f}",
        "an estimated lower bound: tenants with few responses are missed most", estimated=True,
    )  # fmt: skip
    return Sampled(strata, responses, tenants, guess if sightings else None, upper)


def _stratum(rate: float, row: Mapping[str, float], sure: str, flagged: str) -> Stratum:
    return Stratum(rate, int(row[sure]), int(row[flagged]))


def _clustered(strata: Sequence[Stratum]) -> Number:
    return Number(
        sum(s.sure / s.rate for s in strata), sum(s.sure for s in strata), None, "Horvitz-Thompson; seen is the lower end",
        "tenants were drawn, so responses come in clusters, which leave no exact interval", estimated=True,
    )  # fmt: skip


def _of_tenants(groups: Sequence[Stratum]) -> Number:
    found = totals(groups)
    return Number(
        found.value,
        found.lower,
        found.upper,
        METHOD,
        "each tenant was kept or left out whole, by a hash",
        estimated=True,
    )


def stratum_number(stratum: Stratum) -> Number:
    """The total behind one stratum alone, at the full level."""
    found = total(stratum)
    if stratum.rate >= 1:
        return Number(found.value, found.lower, found.upper, "counted in logs that are not sampled")
    return Number(found.value, found.lower, found.upper, METHOD, INDEPENDENT, estimated=True)
