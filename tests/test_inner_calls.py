"""Is a record of another model left open where an object in it tells of a call on the affected one?"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from kvforensics import scan
from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest
from kvforensics.judge import judge
from kvforensics.learned import Rows
from kvforensics.mentions import Mentions
from kvforensics.model_id import ModelReader
from kvforensics.scanned import Keep
from kvforensics.store import Store

INCIDENT = load_incident("cloudflare-workers-ai-glm-5.3")
MODEL, OTHER = "@cf/zai-org/glm-5.3", "@cf/openai/gpt-oss-120b"
Row = dict[str, Any]
LONG, SHORT = {"prompt_tokens": 700_000}, {"prompt_tokens": 9}
KINDS: dict[str, tuple[Row, bool]] = {
    "an attempt before": ({"usage": SHORT, "attempts": [{"model": MODEL, "usage": LONG}]}, True),
    "one of several calls": ({"usage": SHORT, "calls": [{"model": OTHER}, {"model": MODEL, "prompt_tokens": 700_000}]}, True),
    "a fallback by another key": ({"usage": SHORT, "fallbacks": [{"model_id": MODEL, "tokens_in": "700000"}]}, True),
    "an attempt out of the cache": (
        {"usage": SHORT, "tries": [{"model": MODEL, "usage": {"input_tokens": 5, "cache_read_input_tokens": 681_280}}]}, True,
    ),
    "an attempt with a total": ({"usage": SHORT, "attempt": {"model": MODEL, "total_tokens": 700_000}}, True),
    "an attempt as text": ({"usage": SHORT, "tried": json.dumps([{"model": MODEL, "usage": LONG}])}, True),
    "usage by model": ({"usage": {MODEL: LONG, OTHER: SHORT}}, True),
    "usage by model beside a sum": ({"usage": SHORT, "usage_by_model": {MODEL: LONG}}, True),
    "a fallback": ({"usage": LONG, "fallback_model": MODEL}, True),
    "a model in metadata": ({"usage": LONG, "metadata": {"model": MODEL}}, True),
    "a target": ({"usage": LONG, "target": {"model": MODEL}}, True),
    "a route, in other letters": ({"usage": LONG, "route": {"Model-Name": "GLM-5.3"}}, True),
    "an attempt without a count": ({"usage": LONG, "without": [{"model": MODEL}]}, True),
    "no count at all": ({"none": [{"model": MODEL}]}, True),
    "a call at the provider after one elsewhere": (
        {"usage": LONG, "provider": "zai", "model": "glm-5.3", "first": {"provider": "cloudflare", "model": "glm-5.3"}}, True,
    ),
    "a fallback after a call elsewhere": (
        {"usage": LONG, "provider": "zai", "model": "glm-5.3", "fallback_model": MODEL}, True,
    ),
    "usage by model after a call elsewhere": (
        {"usage": SHORT, "provider": "zai", "model": "glm-5.3", "usage_by_model": {MODEL: LONG}}, True,
    ),
    "an attempt at a provider by another key": (
        {"usage": LONG, "provider": "zai", "model": "glm-5.3", "named": [{"provider_name": "Cloudflare", "model": "glm-5.3"}]},
        True,
    ),
    "an attempt at a provider that is an object": (
        {"usage": LONG, "provider": "zai", "model": "glm-5.3", "by": {"provider": {"id": "cloudflare"}, "model": "glm-5.3"}},
        True,
    ),
    "an attempt with its providers below": (
        {"usage": LONG, "provider": "zai", "at": [{"modelId": "glm-5.3", "of": [{"provider": "cloudflare"}]}]},
        True,
    ),
    "a response that a router lists": ({"usage": LONG, "responses": [{"model_permaslug": MODEL, "status": 200}]}, True),
    "a model that is an object": ({"usage": LONG, "object": {"model": {"name": MODEL}}}, True),
    "a list in a list": ({"usage": LONG, "lists": [[{"model": MODEL}]]}, True),
    "texts in a list": ({"usage": LONG, "texts": [json.dumps({"model": MODEL})]}, True),
    "a text further below": ({"usage": LONG, "far": {"below": {"is": json.dumps({"model": MODEL})}}}, True),
    "an attempt whose client went away": ({"usage": LONG, "gone": [{"model": MODEL, "status": 499}]}, True),
    "an attempt that failed with a count": ({"usage": SHORT, "cut": [{"model": MODEL, "status": 500, "usage": LONG}]}, True),
    "an attempt that failed": ({"usage": LONG, "failed": [{"model": MODEL, "status_code": 503}]}, False),
    "an attempt elsewhere": (
        {"usage": LONG, "provider": "zai", "model": "glm-5.3", "no": [{"provider_name": "zai", "model": "glm-5.3"}]}, False,
    ),
    "prices": ({"usage": LONG, "prices": {MODEL: {"input": 1, "output": 2}}}, False),
    "what a prompt is made of": ({"usage": LONG, "with": {"variables": {"model_name": MODEL}}}, False),
    "a short attempt": ({"usage": SHORT, "short": [{"model": MODEL, "usage": SHORT}]}, False),
    "a short attempt alone": ({"alone": [{"model": MODEL, "usage": SHORT}]}, False),
    "short usage by model": ({"usage": {MODEL: SHORT, "gpt-4o": SHORT}}, False),
    "a fallback of a short prompt": ({"usage": SHORT, "fallback_model_id": MODEL}, False),
    "an attempt without a count beside a short one": ({"usage": SHORT, "untold": [{"model": MODEL}]}, False),
    "a limit": ({"usage": SHORT, "limits": {"model": MODEL, "max_input_tokens": 1_000_000}}, False),
    "a longer name": ({"usage": LONG, "longer": {"model": f"{MODEL}-flash"}}, False),
    "another provider": ({"usage": LONG, "provider": "zai", "elsewhere": {"model": "glm-5.3"}}, False),
    "a question": ({"usage": LONG, "messages": [{"role": "user", "content": f"what is {MODEL}?"}]}, False),
    "a question with JSON": ({"usage": LONG, "messages": [{"content": json.dumps({"model": MODEL})}]}, False),
    "an object in a question": ({"usage": LONG, "messages": [{"content": [{"model": MODEL}]}]}, False),
    "a prompt": ({"usage": LONG, "prompt": json.dumps({"model": MODEL})}, False),
    "an answer": ({"usage": LONG, "choices": [{"message": {"content": MODEL}}]}, False),
    "a list of models": ({"usage": LONG, "allowed": {"models": [MODEL]}}, False),
}  # fmt: skip


def home(number: int, row: Row) -> Row:
    return {"request_id": f"h-{number}", "ts": f"2026-09-03T10:{number % 60:02}:00Z", "status": 200, "model": OTHER, **row}


def gateway(number: int, row: Row) -> Row:
    about = {"created_at": f"2026-09-03T10:{number % 60:02}:00Z", "cached": False, "success": True, "status_code": 200}
    usage = row.get("usage", {})
    head = {} if usage in (SHORT, LONG) else {"response_head": {"usage": usage}}
    told = {"tokens_in": usage.get("prompt_tokens"), **head, **{k: v for k, v in row.items() if k != "usage"}}
    return {"id": f"r-{number}", **about, "model": OTHER, "provider": "workers-ai", **told}


def of_others(row: Row) -> Row:
    """The same without the affected model."""
    text = json.dumps(row).replace(MODEL, "gpt-4o").replace("GLM-5.3", "gpt-4o").replace("glm-5.3", "gpt-4o")
    return json.loads(text)  # type: ignore[no-any-return]


def plain(texts: list[str]) -> str:
    return "".join(text + "\n" for text in texts)


def escaped(texts: list[str]) -> str:
    return plain([text.replace("/", "\\/").replace("@", "\\u0040").replace("glm", "\\u0067lm") for text in texts])


def array(texts: list[str]) -> str:
    return "[" + ",\n".join(texts) + "]"


def cri(texts: list[str]) -> str:
    return plain([f"2026-09-03T10:00:00.5Z stdout F {text}" for text in texts])


def docker(texts: list[str]) -> str:
    return plain([json.dumps({"log": f"{t}\n", "stream": "stdout", "time": "2026-09-03T10:00:00.5Z"}) for t in texts])


def logger(texts: list[str]) -> str:
    return plain([json.dumps({"level": 30, "time": "2026-09-03T10:00:00.5Z", "msg": text}) for text in texts])


def open_lines(path: Path, keep: Keep) -> set[int]:
    """The lines that are flagged, each as possible and with its reason."""
    found = ingest(IngestRequest((str(path),), INCIDENT, workers=1, keep=keep))
    with Store(threads=1) as store:
        store.register("records", found.records)
        rows = judge(store, INCIDENT, off_model_dropped=found.off_model_dropped, settled=found.settled).findings.to_pylist()
    assert {r["disposition"] for r in rows} <= {"possible", "duplicate"}
    assert all("model_named_beside" in r["reasons"] for r in rows)
    return {r["line"] for r in rows}


@pytest.mark.parametrize("make", [home, gateway])
@pytest.mark.parametrize("write", [plain, escaped, array, cri, docker, logger])
def test_a_call_on_the_model_inside_a_record_of_another_one_is_not_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[int, Row], Row], write: Callable[[list[str]], str]
) -> None:
    # All shapes come first without the model, so that nothing but the name tells the others apart.
    kinds = [row for row, _ in KINDS.values()]
    rows = [make(n, of_others(row)) for n, row in enumerate(2 * kinds)]
    rows += [make(len(rows) + n, row) for n, row in enumerate(kinds)]
    path = tmp_path / "log"
    path.write_text(write([json.dumps(row) for row in rows]), encoding="utf-8")
    first = 2 * len(kinds) + 1
    expected = {name for name, (_, is_open) in KINDS.items() if is_open}
    monkeypatch.setattr("kvforensics.piece.BLOCK_BYTES", 1 << 12)
    for keep in ("open", "all"):
        lines = open_lines(path, keep)
        assert {name for n, name in enumerate(KINDS) if first + n in lines} == expected
        assert len(lines) == len(expected)


def as_csv(path: Path, rows: list[Row]) -> int:
    """The rows as delimited text; the number of lines above them."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(names)
        table.writerows([[cell(row.get(name)) for name in names] for row in rows])
    return 1


def cell(value: Any) -> Any:
    return value if value is None or type(value) is str else json.dumps(value)


def as_parquet(path: Path, rows: list[Row]) -> int:
    return in_parquet(path, rows, cell)


def as_nested(path: Path, rows: list[Row]) -> int:
    return in_parquet(path, rows, lambda value: value)


def as_nested_bytes(path: Path, rows: list[Row]) -> int:
    def of_bytes(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: of_bytes(held) for key, held in value.items()}
        return list(map(of_bytes, value)) if isinstance(value, list) else value.encode() if isinstance(value, str) else value

    return in_parquet(path, rows, lambda value: of_bytes(value) if isinstance(value, dict | list) else value)


def in_parquet(path: Path, rows: list[Row], written: Callable[[Any], Any]) -> int:
    """The rows as Parquet, each column of one type; as texts where its values have none."""
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        try:
            columns[name] = pa.array([written(row.get(name)) for row in rows])
        except pa.ArrowException:
            columns[name] = pa.array([cell(row.get(name)) for row in rows])
    pq.write_table(pa.table(columns), path, row_group_size=50)
    return 0


@pytest.mark.parametrize("make", [home, gateway])
@pytest.mark.parametrize("write", [as_csv, as_parquet, as_nested, as_nested_bytes])
def test_a_call_on_the_model_in_a_cell_of_a_row_of_another_one_is_not_cleared(
    tmp_path: Path, make: Callable[[int, Row], Row], write: Callable[[Path, list[Row]], int]
) -> None:
    kinds = [row for row, _ in KINDS.values()]
    rows = [make(n, of_others(row)) for n, row in enumerate(2 * kinds)]
    rows += [make(len(rows) + n, row) for n, row in enumerate(kinds)]
    path = tmp_path / "log"
    first = 2 * len(kinds) + 1 + write(path, rows)
    expected = {name for name, (_, is_open) in KINDS.items() if is_open}
    for keep in ("open", "all"):
        lines = open_lines(path, keep)
        assert {name for n, name in enumerate(KINDS) if first + n in lines} == expected
        assert len(lines) == len(expected)


@pytest.mark.parametrize(("own", "looked"), [(OTHER, [31]), ("gpt-5.3", [31]), (f"{MODEL}-flash", [31])])
def test_only_lines_that_name_the_model_elsewhere_need_a_close_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, looked: list[int]
) -> None:
    rows = [gateway(n, {"usage": LONG, "model": own, "fallback_model": "gpt-5.2"}) for n in range(50)]
    rows[30]["fallback_model"] = MODEL
    (tmp_path / "log").write_text(plain([json.dumps(row) for row in rows]), encoding="utf-8")
    closely: list[int] = []
    unit = scan.Scanner.unit

    def look(scanner: scan.Scanner, data: bytes, line: int, *place: Any) -> None:
        closely.append(line)
        unit(scanner, data, line, *place)

    monkeypatch.setattr(scan.Scanner, "unit", look)
    assert open_lines(tmp_path / "log", "open") == {31}
    assert closely == looked


@pytest.mark.parametrize("name", ["glm-5.3", "abcd", "Kimi-K3", "k3"])
def test_a_name_is_found_wherever_it_stands(name: str) -> None:
    looked = Mentions(ModelReader(replace(INCIDENT, model_ids=(name,), model_names=())))
    names = ([0, 1, 2], ["gpt-4o", "gpt-4o", name])
    for before in range(5):
        for told in (name, name.upper(), name.capitalize()):
            lines = [b"x" * before + b'"gpt-4o"', b"y" * before + f'"model":"{told}"'.encode(), f'"{name}" and more'.encode()]
            assert looked.beyond(Rows(b"\n".join(lines) + b"\n", b"\n", 3), [names]) - {2} == {1}


FALLBACKS = ["@cf/zai-org/glm-5.3", "gpt-4o"]


@pytest.mark.parametrize(
    ("rest", "looked"),
    [
        ({"fallbacks": FALLBACKS}, False), ({"note": "slower than glm-5.3"}, False), ({"other_model": f"{MODEL}-flash"}, False),
        ({"fallback_model": MODEL}, True), ({"spent": {MODEL: {"prompt_tokens": 7}}}, True),
        ({"attempts": [[{"model": {"slug": MODEL}}]]}, True), ({"tried": {"modelPermaslug": "z-ai/glm-5.3"}}, True),
        ({"kept": json.dumps({"model_name": MODEL}, indent=1)}, True),
        ({"kept": json.dumps(json.dumps({"model": MODEL}))}, True), ({"spent": json.dumps({"glm-5.3": {"k": 7}})}, True),
    ],
)  # fmt: skip
def test_only_a_name_that_may_tell_of_a_call_costs_a_closer_look(rest: dict[str, Any], looked: bool) -> None:
    lines = [json.dumps({"model": "gpt-4o"} | more).encode() for more in ({}, rest)]
    rows = Rows(b"\n".join(lines) + b"\n", b"\n", 2)
    names = ([0, 1], ["gpt-4o", "gpt-4o"])
    assert Mentions(ModelReader(INCIDENT)).beyond(rows, [names]) == ({1} if looked else set())
