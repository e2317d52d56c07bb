"""How many prompt tokens, read slowly, one record at a time, and as plainly as it can be said?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

NAMES = {
    "prompt": "prompt_tokens", "cache_read": "cache_read_tokens", "cache_write": "cache_write_tokens",
    "completion": "completion_tokens", "total": "total_tokens", "request_bytes": "request_bytes",
}  # fmt: skip


@dataclass
class Answer:
    low: int | None = None
    high: int | None = None
    basis: str = "unknown"
    completion: int | None = None
    problems: list[str] = field(default_factory=list)

    def row(self) -> tuple[int | None, int | None, str, int | None, list[str]]:
        return self.low, self.high, self.basis, self.completion, self.problems


def count(text: str | None, absurd_over: int | None) -> tuple[int | None, str | None]:
    text = (text or "").strip()
    if text in ("", "-"):
        return None, None
    if not re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", text):
        return None, "unreadable"
    if text[0] in "+-":
        return None, "absurd"
    value = Fraction(text)
    scientific = "e" in text.lower()
    if value.denominator != 1 or value >= 10**18 or (scientific and value > 2**53):
        return None, "absurd"
    if absurd_over is not None and value > absurd_over:
        return None, "absurd"
    return int(value), None


def read(
    record: Mapping[str, str | None], rule: str | None, allowance: int, absurd_over: int | None, *, cache_visible: bool,
    own_total: bool, estimate: bool, total_is_sum: bool = False, cache_always_told: bool = False,
    also: Sequence[str] = (),
) -> Answer:  # fmt: skip
    answer = Answer()
    values: dict[str, int | None] = {}
    flaws: dict[str, str | None] = {}
    for slot, name in NAMES.items():
        values[slot], flaws[slot] = count(record.get(slot), None if slot == "request_bytes" else absurd_over)
        if flaws[slot]:
            answer.problems.append(f"{name}_{flaws[slot]}")
    answer.completion = values["completion"]
    field_, total, output = values["prompt"], values["total"], values["completion"]
    read_, write = values["cache_read"] or 0, values["cache_write"] or 0
    cache = read_ + write
    cache_broken = bool(flaws["cache_read"] or flaws["cache_write"])
    rest = total - output if total is not None and output is not None else None
    proves = rule not in ("split", "unproven")
    untold = values["cache_read"] is None and values["cache_write"] is None
    if cache_always_told:
        cache_visible = not untold

    if field_ is not None and (field_ > 0 or cache > 0):
        if read_ > field_ or write > field_:
            rule = "exclusive"
        elif total_is_sum:
            if total is not None and rest is not None and total >= field_ and rest < field_ + cache:
                rule = "inclusive"
        elif own_total and proves and rest == field_:
            rule = "inclusive"
        elif own_total and proves and rest == field_ + cache:
            rule = "exclusive"
        if rule == "inclusive":
            answer.low, answer.high, answer.basis = field_, field_, "reported"
        elif rule in ("exclusive", "split"):
            answer.low = answer.high = field_ + cache
            answer.basis = "reported+cache" if cache else "reported"
            if cache_broken or not cache_visible:
                answer.high, answer.basis = None, "uncertain-cache-rule"
        else:
            answer.low, answer.high = field_, field_ + cache
            answer.basis = "uncertain-cache-rule" if cache else "reported"
            if cache_broken or (rule == "unproven" and untold):
                answer.high, answer.basis = None, "uncertain-cache-rule"
        if own_total and not total_is_sum and proves and rest is not None and answer.high is not None and rest > answer.high:
            answer.high, answer.basis = rest, "uncertain-cache-rule"
    elif rest is not None and rest < 0:
        answer.problems.append("tokens_contradict")
    elif rest is not None and rest > 0:
        if rest < cache:
            answer.problems.append("tokens_contradict")
        else:
            answer.low, answer.high, answer.basis = rest, rest, "total-minus-output"
    elif rest is None and total:
        if total < cache:
            answer.problems.append("tokens_contradict")
        else:
            answer.low, answer.high, answer.basis = cache or None, total, "total-minus-output"
    elif cache:
        answer.low, answer.basis = cache, "reported+cache"

    believed = [n for n, _ in (count(text, absurd_over) for text in also) if n is not None]
    if believed and answer.high is not None and max(believed) > answer.high:
        answer.high, answer.basis = max(believed), "uncertain-cache-rule"
        answer.problems.append("counts_disagree")

    if estimate and (answer.low is not None or answer.high is not None):
        answer.low, answer.high, answer.basis = None, None, "client-estimate"
    size = values["request_bytes"]
    encoding = (record.get("request_encoding") or "").strip().lower()
    if size and encoding in ("", "-", "identity", "none"):
        bound = size + allowance
        if answer.low is not None and answer.low > bound:
            answer.low, answer.high, answer.basis = None, None, "unknown"
            answer.problems.append("tokens_exceed_size")
        elif answer.low is None and answer.high is None:
            answer.high, answer.basis = bound, "size-bound"
        else:
            answer.high = bound if answer.high is None else min(answer.high, bound)
    return answer
