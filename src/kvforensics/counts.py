"""What is counted of a judgement?

The values of the summary: answers, tenants, what rules took out, and what is outside.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct


class Settled(NamedTuple):
    """Records on the model that were left out as they are outside whatever else is known, by the first part that is FALSE."""

    in_window: int = 0
    over_threshold: int = 0
    served: int = 0


class ResponseCounts(Struct, frozen=True):
    """Answers. `upper` is None where a sampled source leaves no bound."""

    affected: int
    possible: int
    lower: int
    upper: int | None


class TenantCounts(Struct, frozen=True):
    """Tenants; `possible` are those not affected already, `unknown_records` the flagged answers that name none."""

    affected: int
    possible: int
    lower: int
    upper: int | None
    unknown_records: int


class RuleCount(Struct, frozen=True):
    """What one exclusion rule matched; `overlaps` are other rules with the number of records that both match."""

    rule_id: str
    hits: int
    would_be_affected: int
    straddling: int
    overlaps: tuple[tuple[str, int], ...]


class ExcludedCounts(Struct, frozen=True):
    """What exclusion rules took out, and each rule by itself in the order of the files."""

    records: int
    tenants: int
    by_rule: tuple[RuleCount, ...]


class OutsideCounts(Struct, frozen=True):
    """Records outside, by the first part that is FALSE."""

    on_model: int
    in_window: int
    over_threshold: int
    served: int

    @property
    def total(self) -> int:
        """All records that are outside."""
        return self.on_model + self.in_window + self.over_threshold + self.served


class Counts(Struct, frozen=True):
    """Everything that is counted. The dispositions add up to `records`, which includes what the reader dropped."""

    responses: ResponseCounts
    tenants: TenantCounts
    excluded: ExcludedCounts
    duplicates: int
    guessed_duplicates: int
    replays: int
    outside: OutsideCounts
    records: int
