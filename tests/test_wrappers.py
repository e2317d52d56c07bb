"""What must hold of every wrapper, and of logs in wrappers?"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kvforensics.wrappers as package
from kvforensics import ingest as reading
from kvforensics.framing import Block, line_blocks
from kvforensics.incident import load_incident
from kvforensics.ingest import IngestRequest, ingest
from kvforensics.joining import whole_blocks
from kvforensics.layer import nested, record_in
from kvforensics.peel import Kind, Peeler
from kvforensics.spec import SLOTS
from kvforensics.wrapper_spec import Wrapper
from kvforensics.wrappers import all_wrappers
from rejected import rejected

INCIDENT = load_incident("cloudflare-workers-ai-glm-5.3")
WRAPPERS = all_wrappers()
FOLDER = Path(str(package.__file__)).parent
MODULES = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem != "__init__")
ACCEPTED = [(w, outer, inner) for w in WRAPPERS for outer, inner in w.accepts]
REFUSED = [(w, text) for w in WRAPPERS for text in w.refuses]
CALL = {
    "started_at": "2026-09-02T08:41:12.907Z", "request_id": "r-1", "tenant": "team-a", "model": "@cf/zai-org/glm-5.3",
    "provider": "cloudflare", "status": 200, "latency_ms": 9120,
    "usage": {"prompt_tokens": 702114, "completion_tokens": 1207, "total_tokens": 703321},
}  # fmt: skip
OTHER = {**CALL, "model": "@cf/meta/llama-3.3", "request_id": "r-9"}
STAMP = "2026-09-02T08:41:22.027000000Z"


def read(folder: Path, data: bytes | str, name: str = "log") -> Any:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return ingest(IngestRequest((str(path),), INCIDENT, workers=1))


def adds_up(found: Any) -> bool:
    return all(i.lines == i.records + i.rejected + i.blank + i.framing for i in found.inputs)


def peeler(*wrappers: Wrapper) -> Peeler:
    return Peeler(wrappers or WRAPPERS, lambda value: int("model" in value), lambda data: b"glm-5.3" in data)


def cri(line: str, part: str = "F", stream: str = "stdout") -> str:
    return f"{STAMP} {stream} {part} {line}\n"


def docker(text: str, stream: str = "stdout") -> str:
    return json.dumps({"log": text, "stream": stream, "time": STAMP}) + "\n"


def docker_piece(line: str, part: str = "F", stream: str = "stdout") -> str:
    return docker(line + "\n" * (part == "F"), stream)


def journal(message: Any, **more: str) -> str:
    fields = {"__REALTIME_TIMESTAMP": "1788338482027000", "_HOSTNAME": "gw-1", "MESSAGE": message, **more}
    return json.dumps(fields) + "\n"


def test_every_module_of_the_folder_is_listed_and_says_what_question_it_answers() -> None:
    assert {importlib.import_module(f"kvforensics.wrappers.{m}").WRAPPER.name for m in MODULES} == {
        w.name for w in WRAPPERS
    }
    for module in MODULES:
        assert re.match(r'"""[^:]+: .+\?"""\n', (FOLDER / f"{module}.py").read_text()), module


@pytest.mark.parametrize("wrapper", WRAPPERS, ids=[w.name for w in WRAPPERS])
def test_a_wrapper_is_a_pattern_or_a_signature_and_proves_itself(wrapper: Wrapper) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", wrapper.name)
    assert bool(wrapper.pattern) != bool(wrapper.signature)
    assert set(wrapper.fields) <= set(SLOTS)
    assert wrapper.accepts
    assert wrapper.refuses
    assert not (wrapper.goes_on and wrapper.ends)


@pytest.mark.parametrize(("wrapper", "outer", "inner"), ACCEPTED, ids=[f"{w.name}-{o[:24]}" for w, o, _ in ACCEPTED])
def test_a_sample_is_peeled_to_the_line_inside(wrapper: Wrapper, outer: str, inner: str) -> None:
    peeled = peeler().line(outer.encode(), 1, 0)
    assert peeled.chain == (wrapper.name,)
    if peeled.kind is Kind.RECORD:
        assert peeled.value == json.loads(inner)
    else:
        assert (peeled.kind, peeled.data) == (Kind.TEXT, inner.encode())


@pytest.mark.parametrize(("wrapper", "text"), REFUSED, ids=[f"{w.name}-{t[:24]}" for w, t in REFUSED])
def test_what_only_looks_like_a_wrapper_is_not_peeled(wrapper: Wrapper, text: str) -> None:
    assert peeler(wrapper).line(text.encode(), 1, 0).chain == ()


@pytest.mark.parametrize("name", [w.name for w in WRAPPERS if not w.pattern])
def test_each_wrapper_of_json_is_found_in_lines_and_in_documents(tmp_path: Path, name: str) -> None:
    [wrapper] = [w for w in WRAPPERS if w.name == name]
    outer = json.loads(wrapper.accepts[0][0])
    line = json.dumps(_with(outer, json.dumps(CALL)))
    found = read(tmp_path, f"{line}\n{line}\n") if type(outer) is dict else None
    for unit in wrapper.units:
        document = [json.loads(line), json.loads(line)]
        for step in reversed(unit.replace("[]", "").split(".") if unit else []):
            document = {step: document} if step else document  # type: ignore[assignment]
        if unit not in ("", "[]") and unit.count("[]") == 1:
            found = read(tmp_path, json.dumps(document, indent=1))
            [report] = found.inputs
            assert (report.records, report.lines) == (2, 2), unit
            assert report.format is not None
            assert report.format.startswith(name)
    if found is not None:
        assert found.records["prompt_tokens_max"].to_pylist() == [702114, 702114]


def _with(outer: Any, message: str) -> Any:
    """The sample with another line inside."""
    text = json.dumps(outer)
    for inner in (json.dumps('{"model":"m"}\n'), json.dumps('{"model":"m"}'), '{"model": "m"}', '"text"'):
        if inner in text:
            return json.loads(text.replace(inner, json.dumps(message + "\n" if inner.endswith('\\n"') else message)))
    raise AssertionError(text)


def test_pieces_of_a_cri_line_are_one_record_at_the_first_line(tmp_path: Path) -> None:
    text = json.dumps(CALL)
    pieces = cri(text[:40], "P") + cri(text[40:90], "P") + cri(text[90:])
    found = read(tmp_path, cri("GET /healthz 200") + pieces + cri(json.dumps(OTHER)))
    [report] = found.inputs
    assert (report.lines, report.records, report.framing, report.rejected) == (5, 2, 3, 0)
    assert dict(report.framing_by) == {"continuation": 2, "other_text": 1}
    assert report.format == "cri > app-json"
    [record] = found.records.to_pylist()
    assert (record["line"], record["prompt_tokens_max"]) == (2, 702114)
    start = len(cri("GET /healthz 200"))
    assert (record["byte_offset"], record["byte_length"]) == (start, len(pieces) - 1)
    assert pieces[:-1].encode() in found.raw(found.records)


def test_streams_that_interleave_are_joined_each_by_itself(tmp_path: Path) -> None:
    text, noise = json.dumps(CALL), json.dumps({**CALL, "request_id": "r-2"})
    lines = [cri(text[:50], "P"), cri(noise[:20], "P", "stderr"), cri(text[50:]), cri(noise[20:], "F", "stderr")]
    found = read(tmp_path, "".join(lines))
    [report] = found.inputs
    assert (report.lines, report.records, report.framing) == (4, 2, 2)
    assert sorted(found.records["line"].to_pylist()) == [1, 2]
    assert "".join(lines[:3])[:-1].encode() in found.raw(found.records)


def test_a_line_whose_last_piece_never_came_is_a_reject(tmp_path: Path) -> None:
    text = json.dumps(CALL)
    found = read(tmp_path, cri(text) + cri(text[:50], "P") + cri(text[50:80], "P"))
    [report] = found.inputs
    assert (report.lines, report.records, report.rejected, report.framing) == (3, 1, 1, 1)
    assert rejected(found).select(["line", "reason"]).to_pylist() == [{"line": 2, "reason": "truncated"}]


def test_docker_pieces_are_joined_until_a_line_end_and_whole_objects_stand_alone(tmp_path: Path) -> None:
    text = json.dumps(CALL)
    data = docker(text[:30]) + docker(text[30:80]) + docker(text[80:] + "\n") + docker(text) + docker("ready\n")
    found = read(tmp_path, data)
    [report] = found.inputs
    assert (report.lines, report.records, report.framing) == (5, 2, 3)
    assert found.records["line"].to_pylist() == [1, 4]


def test_docker_lines_that_a_collector_has_trimmed_are_not_joined(tmp_path: Path) -> None:
    found = read(tmp_path, docker("starting") + docker("ready") + docker(json.dumps(CALL)) * 3)
    [report] = found.inputs
    assert (report.lines, report.records, report.framing) == (5, 3, 2)


def test_a_journal_says_its_message_as_text_as_bytes_repeated_in_pieces_or_not_at_all(tmp_path: Path) -> None:
    text = json.dumps(CALL)
    found = read(
        tmp_path,
        journal(text) + journal(list(text.encode())) + journal(["started", text]) + journal(None)
        + journal(text[:60], _LINE_BREAK="line-max", _STREAM_ID="a") + journal(text[60:], _STREAM_ID="a"),
    )  # fmt: skip
    [report] = found.inputs
    assert (report.lines, report.records, report.rejected, report.framing) == (6, 4, 1, 1)
    assert found.records["line"].to_pylist() == [1, 2, 3, 5]
    assert rejected(found)["reason"].to_pylist() == ["left_out"]
    assert found.records["node"].to_pylist() == ["gw-1"] * 4


def test_wrappers_are_peeled_as_deep_as_they_go(tmp_path: Path) -> None:
    text = json.dumps(CALL)
    inner = docker(text + "\n").rstrip("\n")
    found = read(tmp_path, "".join(journal(cri(inner).rstrip("\n")) for _ in range(3)))
    [report] = found.inputs
    assert (report.records, report.format) == (3, "journald > cri > docker-json > app-json")
    values = [[str(1788338482027000000 + i), cri(text).rstrip("\n")] for i in range(3)]
    loki = {"status": "success", "data": {"resultType": "streams", "result": [{"stream": {"a": "b"}, "values": values}]}}
    found = read(tmp_path, json.dumps(loki))
    assert (found.inputs[0].records, found.inputs[0].format) == (3, "loki > cri > app-json")


def test_pieces_inside_another_layer_are_joined_too(tmp_path: Path) -> None:
    text = json.dumps(CALL)
    data = "".join(journal(cri(t, p).rstrip("\n")) for t, p in ((text[:50], "P"), (text[50:], "F"), (text, "F")))
    [report] = read(tmp_path, data).inputs
    assert (report.lines, report.records, report.framing) == (3, 2, 1)


def test_the_time_inside_wins_and_the_time_outside_is_start_or_end(tmp_path: Path) -> None:
    bare = {k: v for k, v in CALL.items() if k != "started_at"}
    found = read(tmp_path, cri(json.dumps(CALL)) + cri(json.dumps(bare)))
    first, second = found.records.sort_by("line").to_pylist()
    assert (first["time_basis"], first["time_text"]) == ("offset", "2026-09-02T08:41:12.907Z")
    assert (second["time_basis"], second["time_text"]) == ("start-or-end", STAMP)
    assert second["started_latest"] - second["started_earliest"] == 9_120_000


def test_splunk_previews_are_framing_and_fields_serve_where_the_raw_event_is_gone(tmp_path: Path) -> None:
    rows = [
        {"preview": True, "offset": 0, "result": {"_raw": json.dumps(CALL)}},
        {"preview": False, "offset": 0, "result": {"_time": STAMP, "_raw": json.dumps(CALL)}},
        {"preview": False, "offset": 1, "result": {"_time": STAMP, "llm.model": "@cf/zai-org/glm-5.3", "llm.status": "200",
                                                   "llm.usage.prompt_tokens": ["702114"]}},
    ]  # fmt: skip
    found = read(tmp_path, "".join(json.dumps(r) + "\n" for r in rows))
    [report] = found.inputs
    assert (report.lines, report.records, report.framing) == (3, 2, 1)
    assert found.records["prompt_tokens_max"].to_pylist() == [702114, 702114]


def test_a_splunk_table_is_read_by_its_raw_events(tmp_path: Path) -> None:
    quoted = json.dumps(CALL).replace('"', '""')
    found = read(tmp_path, f'_time,_raw,host\n{STAMP},"{quoted}",gw-1\n{STAMP},"{quoted}",gw-1\n')
    [report] = found.inputs
    assert (report.lines, report.records, report.framing, report.format) == (3, 2, 1, "splunk > app-json")
    assert found.records["prompt_tokens_max"].to_pylist() == [702114, 702114]


def test_a_compose_log_with_a_banner_and_colours_holds_records_and_text(tmp_path: Path) -> None:
    data = (
        "Attaching to web-1, db-1\n"
        f"\x1b[36mweb-1  | \x1b[0m{json.dumps(CALL)}\n"
        f"\x1b[33mdb-1   | \x1b[0mready to accept connections\n"
        f"web-1  | 2026-09-02T08:41:22.027Z {json.dumps(CALL)}\n"
        f"web-1  | INFO call {json.dumps(OTHER)}\n"
    )
    [report] = read(tmp_path, data).inputs
    assert (report.lines, report.records, report.framing, report.rejected) == (5, 3, 2, 0)
    assert report.format == "docker-compose > app-json"


def test_text_that_names_the_model_or_is_part_of_a_record_is_no_noise(tmp_path: Path) -> None:
    data = cri(json.dumps(CALL)) + cri("slow: @cf/zai-org/glm-5.3") + cri('"usage":{"prompt_tokens":1}}') + cri("ok")
    [report] = read(tmp_path, data).inputs
    assert (report.records, report.rejected, report.framing) == (1, 2, 1)
    assert report.mentions_model_in_rejects


def test_a_few_broken_lines_among_plain_records_stay_rejects_and_many_lines_of_text_are_framing(tmp_path: Path) -> None:
    row = json.dumps(CALL) + "\n"
    [few] = read(tmp_path, row * 40 + "not json\nnot json\n").inputs
    assert (few.records, few.rejected, few.framing) == (40, 2, 0)
    [many] = read(tmp_path, (row + "GET /healthz 200\n") * 5).inputs
    assert (many.records, many.rejected, many.framing) == (5, 0, 5)


def test_bunyan_and_pino_are_read_by_their_own_fields_and_by_the_line_they_keep(tmp_path: Path) -> None:
    own = {"name": "gw", "hostname": "h", "pid": 7, "level": 30, "msg": "llm call", "time": "2026-09-02T08:41:22Z", **CALL}
    kept = {"level": 30, "time": 1788338482027, "pid": 7, "hostname": "h", "msg": json.dumps(CALL)}
    found = read(tmp_path, f"{json.dumps(own)}\n{json.dumps(kept)}\n")
    assert found.inputs[0].records == 2
    assert found.records["prompt_tokens_max"].to_pylist() == [702114, 702114]
    assert found.records["time_basis"].to_pylist() == ["offset", "offset"]


def test_a_call_in_fields_of_a_logger_keeps_the_time_of_its_event_beside_other_lines(tmp_path: Path) -> None:
    kept = {"level": 30, "time": 1788338482027, "msg": json.dumps(CALL)}
    own = {"time": "2026-09-02T08:41:22Z", "msg": "call", "llm": {k: v for k, v in CALL.items() if k != "started_at"}}
    dotted = {"@timestamp": "2026-09-02T08:41:22Z", "message": "call"} | {f"llm.{k}": v for k, v in own["llm"].items()}
    found = read(tmp_path, "".join(f"{json.dumps(r)}\n" for r in (kept, own, dotted)))
    rows = found.records.sort_by("line").to_pylist()
    assert [(r["time_basis"], r["http_status"], r["prompt_tokens_max"]) for r in rows] == [
        ("offset", 200, 702114), ("start-or-end", 200, 702114), ("start-or-end", 200, 702114),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "header",
    ["Sep  2 10:41:22 web1 nginx: ", "<190>Sep 12 10:41:22 web1 nginx: ", "2026-09-02T10:41:22.1+02:00 web1 nginx[3]: ",
     "<190>1 2026-09-02T10:41:22+02:00 web1 nginx 3 - - "],
)  # fmt: skip
def test_lines_sent_through_syslog_are_read(tmp_path: Path, header: str) -> None:
    access = (
        '192.0.2.1 - team-a [02/Sep/2026:08:41:22 +0000] "POST /ai/run/@cf/zai-org/glm-5.3 HTTP/1.1" 200 512 "-" "curl/8"'
    )
    found = read(tmp_path, f"{header}{access}\n{header}{json.dumps(CALL)}\n")
    rows = found.records.sort_by("line").to_pylist()
    assert [(r["format"], r["tenant"]) for r in rows] == [("nginx-combined", "team-a"), ("app-json", "team-a")]


def test_a_worker_event_shows_the_call_that_matters_and_says_that_there_were_more(tmp_path: Path) -> None:
    calls = [json.dumps({**CALL, "usage": {"prompt_tokens": n}}) for n in (12, 702114, 900)]
    event = {
        "EventTimestampMs": 1788338472907, "Outcome": "ok", "ScriptName": "s",
        "Event": {"RayID": "ab", "Response": {"Status": 200}},
        "Logs": [{"Level": "log", "Message": ["call", calls[0]]}, {"Message": [json.dumps(OTHER), *calls[1:]]}],
    }  # fmt: skip
    cut = {**event, "Logs": [{"Level": "log", "Message": ["<<<Logpush: messages truncated>>>"]}]}
    quiet = {**event, "Logs": [], "Event": {"Request": {"Method": "GET"}}}
    found = read(tmp_path, "".join(json.dumps(e) + "\n" for e in (event, cut, quiet)))
    [report] = found.inputs
    assert (report.records, report.framing, report.format) == (2, 1, "cloudflare-workers-trace")
    first, second = found.records.sort_by("line").to_pylist()
    assert first["prompt_tokens_max"] == 702114
    assert "calls_in_event:4" in first["reasons"]
    assert {"kind": "cf_ray", "value": "ab"} in first["ids"]
    assert (second["model_match"], second["http_status"]) == (None, 200)


def test_dotted_names_are_opened_and_the_record_is_found_below_them() -> None:
    opened = nested({"@timestamp": "t", "llm.model": ["m"], "llm": {"usage": {"prompt_tokens": 1}}, "a.": 1})
    assert opened == {"@timestamp": "t", "llm": {"model": "m", "usage": {"prompt_tokens": 1}}, "a.": 1}
    assert record_in(opened) == {"model": "m", "usage": {"prompt_tokens": 1}}
    split = {"request": {"model": "m"}, "response": {"usage": {}}}
    assert record_in({"call": split}) == split


PIECES = st.lists(
    st.tuples(st.sampled_from("PF"), st.sampled_from(["stdout", "stderr"]), st.integers(0, 60), st.booleans()), max_size=40
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(around=st.sampled_from([cri, docker_piece]), pieces=PIECES, size=st.integers(20, 400), final=st.booleans())
def test_lines_in_any_pieces_are_accounted_for_and_cut_only_where_nothing_is_open(
    tmp_path: Path, around: Callable[..., str], pieces: list[tuple[str, str, int, bool]], size: int, final: bool
) -> None:
    text = json.dumps(CALL)
    data = around(text) + "".join(around(text[:n] if cut else text, part, stream) for part, stream, n, cut in pieces)
    data = data if final else data[:-1]
    found = read(tmp_path, data)
    assert adds_up(found)
    assert found.inputs[0].lines == len(pieces) + 1
    blocks = list(whole_blocks(line_blocks(_Bytes(data.encode()), b"\n", size), WRAPPERS, b"\n"))
    assert b"".join(b.data for b in blocks) == data.encode()
    assert [b.offset for b in blocks] == [sum(len(x.data) for x in blocks[:i]) for i in range(len(blocks))]
    assert [b.first_line for b in blocks] == [1 + sum(x.lines for x in blocks[:i]) for i in range(len(blocks))]
    assert all(_is_closed(b) for b in blocks[:-1])


def _is_closed(block: Block) -> bool:
    reader = peeler()
    for i, line in enumerate(block.data.splitlines(), 1):
        reader.line(line, i, 0)
    return reader.is_closed


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, size: int = -1, /) -> bytes:
        data, self._data = self._data[:size], self._data[size:]
        return data


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cri", "docker", "journald", "compose"])
def test_several_workers_find_what_one_finds_in_a_wrapped_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    lines = []
    for i in range(900):
        text = json.dumps({**(CALL if i % 5 == 0 else OTHER), "request_id": f"r-{i}"})
        cut = 20 + i % 90
        if kind == "cri":
            lines.append(cri(text[:cut], "P") + cri("x", "F", "stderr") + cri(text[cut:]) if i % 7 == 0 else cri(text))
        elif kind == "docker":
            lines.append(docker(text[:cut]) + docker(text[cut:] + "\n") if i % 7 == 0 else docker(text + "\n"))
        elif kind == "journald":
            lines.append(journal(list(text.encode())) if i % 7 == 0 else journal(text))
        else:
            lines.append(f"web-1  | {text if i % 7 else 'noise'}\n")
    path = tmp_path / "log"
    path.write_text("".join(lines))
    one = ingest(IngestRequest((str(path),), INCIDENT, workers=1))
    monkeypatch.setattr(reading, "PARALLEL_FROM", 1)
    monkeypatch.setattr(reading, "RANGE_BYTES", 20_000)
    monkeypatch.setattr(reading, "BLOCK_BYTES", 20_000)
    two = ingest(IngestRequest((str(path),), INCIDENT, workers=2))
    assert one.inputs == two.inputs
    assert one.records.sort_by("line").to_pylist() == two.records.sort_by("line").to_pylist()
    assert one.inputs[0].records == (900 if kind != "compose" else 900 - 129)


TOLD = json.dumps({"model": CALL["model"], "usage": {"prompt_tokens": 700_000}})
"""A call as text."""


@pytest.mark.parametrize(
    "held",
    [
        {"payload": TOLD[:-9]}, {"payload": f"[{TOLD}]"}, {"payload": f"data: {TOLD}\n\ndata: [DONE]\n"},
        {"payload": json.dumps(TOLD)}, {"payload": f"done {TOLD}"}, {"kept": TOLD}, {"response": TOLD + "\n" + TOLD},
    ],
)  # fmt: skip
def test_an_object_of_no_format_that_may_hold_a_call_on_the_model_is_rejected_and_any_other_is_framing(
    tmp_path: Path, held: dict[str, str]
) -> None:
    about = {"ts": "2026-09-02T10:00:00Z", "kept": "welcome"}
    chatter = {**about, "deployed": f"ready for {CALL['model']}"}
    found = read(tmp_path, "".join(json.dumps(v) + "\n" for v in (CALL, {**about, **held}, about, chatter)))
    [report] = found.inputs
    assert (report.records, report.framing, report.mentions_model_in_rejects) == (1, 2, True)
    assert [(r["line"], r["reason"]) for r in rejected(found).to_pylist()] == [(2, "unknown_record")]


def call(model: str, count: int | None) -> str:
    return json.dumps({"model": model} | ({} if count is None else {"usage": {"prompt_tokens": count}}))


ON, OFF = CALL["model"], OTHER["model"]


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        # The answer comes before the request, which may be cut.
        ({"call": call(ON, None)[:-1], "details": call(ON, 700_000)}, (True, 700_000, [])),
        ({"call": call(ON, None), "details": call(ON, 5)}, (True, 5, [])),
        ({"call": call(OFF, None), "details": call(OFF, 5)}, None),
        ({"body": call(ON, 5), "raw": call(ON, 700_000)}, (True, 700_000, ["calls_in_event:2"])),
        ({"call": call(OFF, 800_000), "payload": call(ON, 700_000)}, (True, 700_000, ["calls_in_event:2"])),
        ({"details": call(OFF, 5), "call": call(ON, None)}, (True, None, ["calls_in_event:2"])),
        ({"call": call(OFF, None), "details": call(OFF, 5) + "\n" + call(ON, 700_000)}, "contradicted"),
        ({"details": call(OFF, 5), "kept": call(ON, 700_000)}, "contradicted"),
        ({"details": call(ON, 5), "stream": f"data: {call(ON, 700_000)}"}, "contradicted"),
        ({"details": call(ON, 700_000), "stream": f"data: {call(ON, 700_000)}"}, (True, 700_000, [])),
        ({"payload": json.dumps({"payload": json.dumps({"payload": call(ON, 700_000)})})}, (True, 700_000, [])),
    ],
)
def test_calls_of_one_record_that_contradict_each_other_are_not_cleared_by_the_first(
    tmp_path: Path, held: dict[str, str], expected: str | tuple[bool, int | None, list[str]] | None
) -> None:
    about = {"ts": "2026-09-02T10:00:00Z", "status": 200}
    found = read(tmp_path, "".join(json.dumps(v) + "\n" for v in (CALL, {**about, **held})))
    rows = [r for r in found.records.to_pylist() if r["line"] == 2]
    if isinstance(expected, str):
        assert [r["reason"] for r in rejected(found).to_pylist()] == [expected]
        assert found.inputs[0].mentions_model_in_rejects
    else:
        told = [(r["model_match"], r["prompt_tokens_max"], r["reasons"]) for r in rows if r["model_match"]]
        assert told == ([] if expected is None else [expected])
