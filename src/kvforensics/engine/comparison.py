"""What did a change of configuration do to each check?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from kvforensics.engine.audit import FAILED, NOT_TOLD, PASSED, Audit
from kvforensics.engine.checks import TITLES, Check, Status

SCHEMA = "kvforensics.audit-comparison/1"
_RANK: dict[Status, int] = {"fail": 0, "unknown": 1, "pass": 2}


class Change(Struct, frozen=True):
    """One check before and after; None where it was not asked (no such role). The worst node of a side stands for it."""

    id: str
    role: str
    old: Status | None
    new: Status | None
    old_why: str | None
    new_why: str | None

    @property
    def effect(self) -> str:
        """`better`, `worse`, `same`, `new` or `gone`."""
        if self.old is None or self.new is None:
            return "new" if self.old is None else "gone"
        before, after = _RANK[self.old], _RANK[self.new]
        return "same" if before == after else "better" if after > before else "worse"


class Comparison(Struct, frozen=True):
    """Every check before and after, and the exit status of the new state for a deployment gate."""

    changes: tuple[Change, ...]
    old: Audit
    new: Audit

    @property
    def exit_status(self) -> int:
        """10 where the new state fails a check, 12 where one is not told, 0 where all pass."""
        return self.new.exit_status

    def document(self) -> dict[str, Any]:
        """The comparison as one JSON document."""
        return {
            "schema": SCHEMA,
            "verdict": {PASSED: "pass", FAILED: "fail", NOT_TOLD: "unknown"}[self.exit_status],
            "worse": sum(c.effect == "worse" for c in self.changes),
            "better": sum(c.effect == "better" for c in self.changes),
            "changes": [
                {"id": c.id, "title": TITLES[c.id], "role": c.role, "old": c.old, "new": c.new, "effect": c.effect,
                 "old_why": c.old_why, "new_why": c.new_why}
                for c in self.changes
            ],
            "old": self.old.document(),
            "new": self.new.document(),
        }  # fmt: skip


def compare(old: Audit, new: Audit) -> Comparison:
    """Both audits, check by check and role by role: node names differ between deployments, roles do not."""
    before, after = dict(_worst(old)), dict(_worst(new))
    keys = sorted(set(before) | set(after), key=lambda k: (list(TITLES).index(k[0]), k[1]))
    changes = []
    for key in keys:
        one, other = before.get(key), after.get(key)
        changes.append(Change(
            key[0], key[1], one.status if one else None, other.status if other else None,
            one.why if one else None, other.why if other else None,
        ))  # fmt: skip
    return Comparison(tuple(changes), old, new)


def _worst(audit: Audit) -> Iterator[tuple[tuple[str, str], Check]]:
    roles = {(n.name, n.ordinal): n.role or "role not told" for n in audit.nodes}
    worst: dict[tuple[str, str], Check] = {}
    for check in audit.checks:
        role = "fleet" if check.node is None or check.start is None else roles[check.node, check.start]
        held = worst.get((check.id, role))
        if held is None or _RANK[check.status] < _RANK[held.status]:
            worst[check.id, role] = check
    yield from worst.items()
