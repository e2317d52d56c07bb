"""What does a responder read on the terminal about whose data leaked to whom?"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from kvforensics.escape import terminal
from kvforensics.plural import counted

WIDTH = 80
SHOWN = 10
SHOWN_PAIRS = 40

Json = Mapping[str, Any]


def exposure_text(document: Json) -> str:
    """The exposure matrix, then each response with the tenants behind its pages, then what weakens the answer."""
    count = document["affected_responses"]
    if not count:
        return "No affected response is in these logs.\n"
    lines = _wrapped(
        f"{count:,} affected responses. Rows in reach are exposure, not proof of disclosure; safe is only the superset of "
        "all tenants that wrote on the same rank before.", "", ""
    )  # fmt: skip
    if document["doubts"]:
        lines += ["", "Trust the superset more than the shares, because"]
        for doubt in document["doubts"]:
            lines += _wrapped(terminal(doubt), "  - ", "    ")
    lines += ["", "Receiving tenant <- source tenant: responses, rows in reach (90 % interval)"]
    pairs = document["matrix"]
    for cell in sorted(pairs, key=lambda c: -c["rows"])[:SHOWN_PAIRS]:
        lines += _wrapped(
            f"{_name(cell['receiving_tenant'])} <- {_name(cell['source_tenant'])}: {cell['responses_in_replay']:,} to "
            f"{cell['responses_at_most']:,}, {cell['rows']:,} ({cell['rows_low']:,} to {cell['rows_high']:,})", "  ", "    "
        )  # fmt: skip
    if len(pairs) > SHOWN_PAIRS:
        lines.append(f"  ... {len(pairs) - SHOWN_PAIRS:,} more pairs with --json")
    lines += ["", "Responses"]
    for response in document["responses"][:SHOWN]:
        lines += _wrapped(
            f"{terminal(response['rid'])} of {_name(response['tenant'])}, {response['prompt_tokens']:,} tokens, on "
            f"{terminal(response['node'])} DP{response['dp']} ({response['basis']})", "  ", "    "
        )  # fmt: skip
        for share in response["tenants"][:3]:
            lines.append(f"    {share['share'] or 0:6.1%}  {_name(share['tenant'])}")
        superset = response["superset"]
        tenants = counted(len(superset["tenants"]), "tenant")
        kind = "safe superset" if superset["whole"] else "superset, not whole"
        lines.append(f"    {kind}: {counted(superset['requests'], 'request')} of {tenants}")
    if count > SHOWN:
        lines.append(f"  ... {count - SHOWN:,} more with --json")
    return "\n".join(lines) + "\n"


def _name(tenant: str | None) -> str:
    return "tenant not told" if tenant is None else terminal(tenant)


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
