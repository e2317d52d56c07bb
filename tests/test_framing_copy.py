"""Are the rows of a database's dump read for what they say, and has every line of it its place?"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kvforensics.framing import line_blocks
from kvforensics.framing_copy import copy_sections, parse_copied
from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest
from rejected import rejected

INCIDENT = load_incident("cloudflare-workers-ai-glm-5.3")
BANNER = "--\n-- PostgreSQL database dump\n--\n\nSET statement_timeout = 0;\n\n"
COLUMNS = (
    "request_id", "call_type", "spend", "total_tokens", "prompt_tokens", "completion_tokens", "startTime", "endTime",
    "model", "custom_llm_provider", "api_base", "cache_hit", "metadata", "status",
)  # fmt: skip
NAMES = ", ".join(f'"{c}"' if c != c.lower() else c for c in COLUMNS)
DEFINED = 'CREATE TABLE public."LiteLLM_SpendLogs" (\n' + ",\n".join(
    f"    {name} text" for name in NAMES.split(", ")
)  # fmt: skip
MODELS = 'COPY public."LiteLLM_ProxyModelTable" (model_id, model_name) FROM stdin;\nm-1\t@cf/zai-org/glm-5.3\n\\.\n\n'
MODEL = "openai/@cf/zai-org/glm-5.3"
ESCAPED = {"\\": r"\\", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v"}


def escaped(text: str | None) -> str:
    """A cell as `COPY` writes it."""
    return r"\N" if text is None else "".join(ESCAPED.get(c, c) for c in text)


def row(count: int, metadata: str | None = None, **changed: Any) -> str:
    told = dict(zip(COLUMNS, (
        f"chatcmpl-{count}", "acompletion", "0.9", str(count + 9), str(count), "9", "2026-09-03 10:00:00.123",
        "2026-09-03 10:00:41.5", MODEL, "openai", "https://api.cloudflare.com/client/v4/accounts/a/ai/v1", "False",
        metadata, "success",
    ), strict=True))  # fmt: skip
    return "\t".join(escaped(v) for v in {**told, **changed}.values()) + "\n"


def copied(*rows: str) -> str:
    return f'COPY public."LiteLLM_SpendLogs" ({NAMES}) FROM stdin;\n{"".join(rows)}\\.\n\n'


def read(folder: Path, text: str | bytes) -> Any:
    path = folder / "dump"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = ingest(IngestRequest((str(path),), INCIDENT, workers=1))
    [report] = found.inputs
    assert report.lines == report.records + report.rejected + report.blank + report.framing
    assert report.lines == len(path.read_bytes().removesuffix(b"\n").split(b"\n"))
    return found


def test_spend_logs_in_a_dump_are_records_at_their_lines_and_all_else_is_framing(tmp_path: Path) -> None:
    metadata = '{"user_api_key_team_id": "team\\ta", "note": "C:\\\\x"}'
    dump = BANNER + MODELS + copied(row(5, model="openai/gpt"), row(702_001, metadata)) + "--\n-- complete\n--\n"
    found = read(tmp_path, dump)
    [report] = found.inputs
    assert (report.format, report.records, report.rejected) == ("litellm-spendlogs", 2, 0)
    assert dict(report.framing_by) == {"sql": 11, "other_table": 1}
    [record] = found.records.to_pylist()
    line = dump.split("\n").index(row(702_001, metadata).strip("\n")) + 1
    assert (record["line"], record["prompt_tokens_max"], record["tenant"]) == (line, 702_001, "team\ta")
    assert list(found.raw(found.records)) == [row(702_001, metadata).strip("\n").encode()]


def test_rows_that_are_broken_cut_off_or_inserted_are_rejected(tmp_path: Path) -> None:
    inserted = f"INSERT INTO x VALUES ('{MODEL}');\n"  # noqa: S608 - nothing runs it
    dump = "".join((BANNER, copied(row(702_002), "half a row\t1\n"), inserted, copied(row(702_003))))
    [report] = read(tmp_path, dump.removesuffix("\\.\n\n").removesuffix("success\n")).inputs
    assert (report.records, report.rejected, report.mentions_model_in_rejects) == (2, 2, True)


def test_a_table_that_comes_late_is_known_by_its_definition(tmp_path: Path) -> None:
    other = 'COPY public."LiteLLM_AuditLog" (id, before_value) FROM stdin;\n' + "1\t{}\n" * 200_000 + "\\.\n\n"
    found = read(tmp_path, f"{BANNER}{DEFINED},\n    CONSTRAINT c CHECK (true)\n);\n\n{other}{copied(row(702_004))}")
    assert found.records["prompt_tokens_max"].to_pylist() == [702_004]


@pytest.mark.parametrize(
    ("columns", "cells", "expected"),
    [
        ("id, created_at, model, prompt_tokens", ("2026-09-02 10:00:00+00", MODEL, "700000"), (2, 0)),
        ("id, created_at, payload", ("2026-09-02 10:00:00+00", f'{{"model": "{MODEL}"}}'), (1, 1)),
        ("id, model, n_tokens", (MODEL, "700000"), (1, 1)),
        ("id, kept", (f'{{"model": "{MODEL}", "usage": {{"prompt_tokens": 700000}}}}',), (1, 1)),
        ("id, kept", (f'{{"model": "{MODEL}", "max_input_tokens": 700000}}',), (1, 0)),
        ("id, created_at, model, updated_by", ("2026-09-02 10:00:00+00", MODEL, "u"), (1, 0)),
    ],
)
def test_rows_of_a_second_table_behind_the_head_are_read_or_rejected_where_they_may_be_calls(
    tmp_path: Path, columns: str, cells: tuple[str, ...], expected: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvforensics.recognise.HEAD_BYTES", 1024)
    filler = "-- x\n" * 300
    copied_too = f"COPY public.calls ({columns}) FROM stdin;\n" + "\t".join(("1", *map(escaped, cells))) + "\n\\.\n"
    found = read(tmp_path, BANNER + copied(row(9)) + filler + copied_too)
    [report] = found.inputs
    assert (report.records, report.rejected, report.mentions_model_in_rejects) == (*expected, expected[1] > 0)
    assert [r["reason"] for r in rejected(found).to_pylist()] == ["unread_row"] * expected[1]


def test_bytes_that_are_no_text_are_unknown_and_cost_only_their_cell(tmp_path: Path) -> None:
    found = read(tmp_path, (BANNER + copied(row(702_005, status="OK?"))).encode().replace(b"OK?", b"\xff\xfe"))
    [record] = found.records.to_pylist()
    assert (record["prompt_tokens_max"], record["status"], record["reasons"]) == (702_005, None, ["invalid_utf8"])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_of_either_kind_end_rows(tmp_path: Path, end: str) -> None:
    found = read(tmp_path, (BANNER + copied(row(702_006), row(702_007))).replace("\n", end))
    assert found.records["status"].to_pylist() == ["success"] * 2


def test_a_dump_without_such_tables_is_not_understood(tmp_path: Path) -> None:
    [report] = read(tmp_path, BANNER + MODELS).inputs
    assert (report.format, report.records) == (None, 0)


@given(st.lists(st.tuples(*[st.none() | st.text("ab\\\t\n\r\b\v\x01Nxé ", min_size=1, max_size=6)] * 2), max_size=8))
@example([(r"\N", "\\")])
def test_cells_are_what_was_copied_whatever_they_hold_and_wherever_blocks_end(rows: list[Any]) -> None:
    text = 'x\nCOPY t (a, "b ""c") FROM stdin;\n' + "".join(f"{escaped(a)}\t{escaped(b)}\n" for a, b in rows) + "\\.\ny\n"
    for size in (16, 1 << 20):
        sections = list(copy_sections(line_blocks(io.BytesIO(text.encode()), block_size=size)))
        assert b"".join(block.data for _, block in sections) == text.encode()
        assert sum(block.lines for _, block in sections) == len(rows) + 4
        parsed = [parse_copied(columns, block) for columns, block in sections if columns is not None]
        assert [cells for p in parsed for cells in p.frame.rows()] == rows
        assert {tuple(p.frame.columns) for p in parsed} <= {("a", 'b "c')}


@pytest.mark.parametrize(("cell", "said"), [(r"\101\x42\q", "ABq"), (r"\\N", r"\N"), ("", None), (r"\N", None)])
def test_other_escapes_are_read_as_the_database_does(cell: str, said: str | None) -> None:
    dump = io.BytesIO(f"COPY t (a, b) FROM stdin;\n{cell}\tx\n".encode())
    [_, (columns, block)] = copy_sections(line_blocks(dump))
    assert parse_copied(columns or (), block).frame.rows() == [(said, "x")]
