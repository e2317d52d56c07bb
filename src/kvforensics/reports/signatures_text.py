"""What does a responder read on the terminal about the signatures in engine logs?"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from kvforensics.escape import terminal
from kvforensics.plural import counted

WIDTH = 80
SHOWN = 20

Json = Mapping[str, Any]


def signatures_text(document: Json) -> str:
    """The bound, each signature with its count and reliability, the first rows, and the look-alikes."""
    least = document["affected_at_least"]
    proved = f"At least {least:,} affected request{' is' if least == 1 else 's are'} proved."
    lines = [proved if least else "No affected request is proved; that is no proof that there was none.", ""]
    for found in document["signatures"]:
        refused = f" ({found['refused']:,} refused)" if found["refused"] else ""
        what = f"{found['name']}: {found['count']:,}{refused}; {found['reliability']}"
        lines += _wrapped(what, f"  {found['signature']:<7}", " " * 9)
    for text in document["not_asked"]:
        lines += _wrapped(f"not asked: {text}", "  ", "    ")
    for text in document["not_told"]:
        lines += _wrapped(f"not told: {text}", "  ", "    ")
    joined = document["requests"]
    if joined["on_prefill"] or joined["on_decode"]:
        lines += _wrapped(
            f"requests: {joined['on_prefill']:,} on prefill, {joined['on_decode']:,} on decode, {joined['on_both']:,} joined "
            f"by room; {joined['at_gateway']:,} at the gateway, {joined['joined_to_gateway']:,} joined by time", "  ", "    "
        )  # fmt: skip
    if drift := document["token_drift"]:
        unseen = (
            f"prompt tokens that prefill never saw: {drift['stub_drift']:,}, over {counted(drift['rooms'], 'room')}"
        )
        lines += _wrapped(unseen, "  S9     ", " " * 9)
    if document["rows"]:
        lines += ["", "Rows"]
    for row in document["rows"][:SHOWN]:
        who = f"rid {terminal(row['rid'])}" if row["rid"] else f"room {row['room']}" if row["room"] else "no id"
        low, high = row["tokens_low"], row["tokens_high"]
        size = "length not told" if low is None else f"{low:,} tokens" if low == high else f"{low:,} to {high:,} tokens"
        place = f" at {terminal(row['source'])}:{row['line']}" if row["source"] else ""
        what = f"{row['signature']} {terminal(row['node'] or '?')}: {who}, {size}, {terminal(row['reading'])}{place}"
        lines += _wrapped(what, "  ", "    ")
    if len(document["rows"]) > SHOWN:
        lines.append(f"  ... {len(document['rows']) - SHOWN:,} more with --json")
    if document["look_alikes"]:
        lines += ["", "Looks like it and is not"]
    for row in document["look_alikes"]:
        what = f"{row['kind']}: {counted(row['lines'], 'line')}, {row['reading']}; {terminal(row['source'])}:{row['line']}"
        lines += _wrapped(what, "  ", "    ")
    return "\n".join(lines) + "\n"


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
