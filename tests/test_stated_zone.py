"""What does a stated zone change, and does the record say so?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest

LINE = '{{"request_id":"r","started_at":"{}","model":"@cf/zai-org/glm-5.3","usage":{{"prompt_tokens":700000}}}}\n'


def read(path: Path, text: str, zone: str) -> Any:
    path.write_text(LINE.format(text))
    request = IngestRequest((str(path),), load_incident("cloudflare-workers-ai-glm-5.3"), ((None, zone),), workers=1)
    [record] = ingest(request).records.to_pylist()
    return record


@pytest.mark.parametrize("zone", ["UTC", "Etc/UTC", "Europe/Amsterdam"])
def test_a_local_time_that_a_stated_zone_placed_is_assumed(tmp_path: Path, zone: str) -> None:
    record = read(tmp_path / "app.jsonl", "2026-09-02 08:41:12", zone)
    assert record["time_basis"] == f"assumed:{zone}"
    assert record["unzoned_earliest"] < record["started_earliest"] < record["unzoned_latest"]


def test_a_time_that_says_its_offset_is_not_assumed(tmp_path: Path) -> None:
    record = read(tmp_path / "app.jsonl", "2026-09-02T08:41:12Z", "UTC")
    assert (record["time_basis"], record["unzoned_earliest"]) == ("offset", None)
