"""Which formats are in the results of a search export that is XML?"""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import islice

from kvforensics.detect import SAMPLE_RECORDS, layered_plan
from kvforensics.framing_xml import Result, xml_results
from kvforensics.plan import Plan
from kvforensics.sample_layers import sample_rows
from kvforensics.spec import Format
from kvforensics.wrapper_spec import Wrapper


def xml_plans(head: bytes, formats: Sequence[Format], wrappers: Sequence[Wrapper]) -> tuple[Plan, ...]:
    """The plan for a source that starts with `head`, none where it is no such export."""
    if not head.lstrip().startswith(b"<") or b"<result" not in head:
        return ()
    rows = [r.value for r in islice(xml_results(io.BytesIO(head)), SAMPLE_RECORDS) if isinstance(r, Result)]
    inner = [f for f in formats if {"lines", "text"} & set(f.containers)]
    sample = sample_rows(rows, inner, wrappers)
    return tuple(layered_plan(sample, inner, wrappers, Plan("xml", (), (), sample.seen))) if sample.wrapped else ()
