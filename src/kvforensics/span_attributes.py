"""Which attributes of the spans of a line are asked for?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvforensics.spec import Format


def attributes_asked(formats: Sequence[Format]) -> re.Pattern[bytes]:
    """Finds the attributes that formats ask for: name and text where the text is plain, else the bare name."""
    paths: set[str] = set()
    for fmt in formats:
        if fmt.view == "otlp":
            terms = [t for terms in (*fmt.signature, *fmt.requests) for t in terms]
            paths |= {t.removeprefix("!").partition("=")[0] for t in terms} | models_asked(fmt)
    names = sorted(p for p in paths if not p.startswith(("span.", "resource.")))
    either = "|".join(re.escape(n) for n in names).encode()
    return re.compile(
        rb'"key"\s*+:\s*+"(?:(' + either + rb')"\s*+,\s*+"value"\s*+:\s*+\{\s*+"stringValue"\s*+:\s*+"([^"\\]*+)"\s*+\}'
        rb"|(" + either + rb')")'
    )


def models_asked(fmt: Format) -> set[str]:
    """The attributes that name the model of a request or of its answer."""
    return {*fmt.fields.get("model", ()), *fmt.fields.get("answer_model", ())}


def counts_of(formats: Sequence[Format]) -> re.Pattern[bytes]:
    """Finds the token counts of a span: the figures of each, nothing where it is no plain number."""
    slots = ("prompt", "cache_read", "cache_write", "total")
    names = {p.partition("|")[0] for f in formats if f.view == "otlp" for slot in slots for p in f.fields.get(slot, ())}
    either = "|".join(map(re.escape, sorted(names))).encode()
    return re.compile(
        rb'"key"\s*+:\s*+"(?:' + either + rb')"(?:\s*+,\s*+"value"\s*+:\s*+\{\s*+"\w++"\s*+:\s*+"?([0-9]{1,18}+)"?\s*+\})?'
    )
