"""What is left out as settled changes no answer: the same counts as when every record is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import cases
from kvforensics.formats import by_name
from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest
from kvforensics.judge import judge
from kvforensics.lane import layout_of
from kvforensics.scanned import Keep
from kvforensics.store import Store

INCIDENT = load_incident("cloudflare-workers-ai-glm-5.3")
MODEL, OTHER = "@cf/zai-org/glm-5.3", "@cf/meta/llama-3.3"
ROW: dict[str, Any] = {
    "id": "a", "cached": False, "created_at": "2026-09-02T08:41:12.907Z", "duration": 9120, "model": MODEL,
    "provider": "workers-ai", "success": True, "tokens_in": 702114, "tokens_out": 1207, "status_code": 200,
}  # fmt: skip
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["a", "b", "c", "d", "unknown", "0", None, 7]),
        "model": st.sampled_from([MODEL, OTHER, "default", None, 3]),
        "tokens_in": st.sampled_from([1, 0, -4, 900, 681273, 681274, 681280, 681281, 12.5, 900.0, "900", "x", None, True]),
        "created_at": st.sampled_from(
            ["2026-08-26T23:59:59Z", "2026-09-09T14:10:00Z", "2026-12-01T00:00:00Z", "2026-09-01 00:00:00", 1788338472, None]
        ),
        "cached": st.sampled_from([True, None, "false", "HIT", 0]),
        "status_code": st.sampled_from([400, 499, None]),
        "request_size": st.sampled_from([100, 10**7]),
        "response_head": st.sampled_from([{"id": "a"}, {"usage": {"prompt_tokens_details": {"cached_tokens": 690000}}}]),
    },
)
ODD = st.sampled_from(
    [
        "", "{", json.dumps({**ROW, "tokens_in": 5})[:-1] + ',"tokens_in":700000}',
        json.dumps(ROW)[:-1] + f',"model":"{OTHER}"' + "}", json.dumps(ROW)[:-1] + ',"m\\u006fdel":"@cf/meta/llama-3.3"}',
        json.dumps({**ROW, "tokens_in": 5})[:-1] + ',"tok\\u0065ns_in":700000}',
        json.dumps({**ROW, "tokens_in": 5})[:-1] + ',"cached":true}',
        json.dumps({**ROW, "note": "a \\u003c b"}), json.dumps({**ROW, "nested": {"model": OTHER, "tokens_in": 3}}),
    ]
)  # fmt: skip
LINES = st.builds(lambda change: json.dumps({**ROW, **change}), CHANGES) | ODD


def counted(paths: list[Path], keep: Keep) -> dict[str, Any]:
    """What a check of these files would count."""
    found = ingest(IngestRequest(tuple(map(str, paths)), INCIDENT, workers=1, keep=keep))
    with Store(threads=1) as store:
        store.register("records", found.records)
        made = judge(store, INCIDENT, off_model_dropped=found.off_model_dropped, settled=found.settled)
    flagged = made.findings.select(["source", "line", "disposition", "in_window", "over_threshold", "duplicate_of"]).to_pylist()
    return {
        "flagged": flagged, "responses": made.counts.responses, "records": made.counts.records, "inputs": found.inputs,
        "minutes": [c.minutes.to_pylist() for c in found.coverage], "warnings": made.warnings,
        "outside": made.counts.outside if keep != "all" else None,
    }  # fmt: skip


@settings(max_examples=cases(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES, min_size=1, max_size=12))
def test_a_settled_record_changes_no_answer(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(line + "\n" for line in [json.dumps({**ROW, "id": "z", "model": OTHER}), *lines]))
    assert counted([path], "open") == counted([path], "on-model")


@settings(max_examples=cases(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(one=st.lists(LINES, min_size=1, max_size=8), two=st.lists(LINES, min_size=1, max_size=8))
def test_a_record_that_another_source_knows_more_of_is_brought_back(tmp_path: Path, one: list[str], two: list[str]) -> None:
    paths = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    head = json.dumps({**ROW, "id": "z", "model": OTHER})
    for path, lines in zip(paths, (one, two), strict=True):
        path.write_text("".join(line + "\n" for line in [head, *lines]))
    few, every = counted(paths, "open"), counted(paths, "all")
    assert {**few, "outside": None} == every


def test_small_prompts_are_settled_and_large_ones_kept(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    rows = [{**ROW, "id": f"r{i}", "tokens_in": 700_000 if i % 10 == 0 else 900} for i in range(100)]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    found = ingest(IngestRequest((str(path),), INCIDENT, workers=1, keep="open"))
    assert found.settled == (0, 90)
    assert found.records.num_rows == 10
    assert pc.min(found.records["prompt_tokens_min"]).as_py() == 700_000


@pytest.mark.parametrize("name", ["app-json", "cloudflare-graphql"])
def test_a_format_that_searches_or_samples_has_no_lane(name: str) -> None:
    assert layout_of(by_name(name)) is None
