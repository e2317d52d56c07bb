"""What must hold of every log format?"""

from __future__ import annotations

import importlib
import re
import statistics
from pathlib import Path

import polars as pl
import pytest

import kvforensics.formats as package
from kvforensics.decode import decode_unit
from kvforensics.errors import UsageError
from kvforensics.formats import all_formats, by_name
from kvforensics.raw import RAW_COLUMNS, Extractor
from kvforensics.spec import CONTAINERS, ID_KINDS, SLOTS, Format
from kvforensics.value_reading import READINGS
from kvforensics.views import VIEWS, view

FORMATS = all_formats()
FOLDER = Path(str(package.__file__)).parent
MODULES = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem != "__init__")
ACCEPTED = [(f, text) for f in FORMATS for text in f.accepts]
TELLING = [(f, text) for f, text in ACCEPTED if not f.chatter]
REFUSED = [(f, text) for f in FORMATS for text in f.refuses]


def each(formats: tuple[Format, ...] = FORMATS) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("fmt", formats, ids=[f.name for f in formats])


def value(text: str) -> object:
    decoded = decode_unit(text.encode())
    assert decoded.reject is None
    return view(VIEWS, decoded.value)[0]


def record(fmt: Format, text: str) -> object | None:
    """The record that a format sees in a unit of its container, None where it sees none."""
    for pattern in fmt.pattern:
        groups = pl.Series([text]).str.extract_groups(f"(?P<whole>{pattern})").struct.unnest().to_dicts()[0]
        if groups.pop("whole") is not None:
            return groups
    decoded = decode_unit(text.encode())
    if fmt.pattern or decoded.reject is not None:
        return None
    return view((fmt.view,), decoded.value)[0] if fmt.view else decoded.value


def takes(fmt: Format, text: str) -> bool:
    found = record(fmt, text)
    return found is not None and Extractor(fmt).matches(found)


def slots(fmt: Format, text: str) -> dict[str, str | None]:
    return Extractor(fmt).batch([record(fmt, text)]).to_dicts()[0]


def test_names_are_unique_and_kebab_case() -> None:
    names = [f.name for f in FORMATS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", n) for n in names)


def test_every_module_of_the_folder_is_listed() -> None:
    found = {importlib.import_module(f"kvforensics.formats.{m}").FORMAT.name for m in MODULES}
    assert found == {f.name for f in FORMATS}


def test_the_median_file_is_under_eighty_lines() -> None:
    assert statistics.median(len((FOLDER / f"{m}.py").read_text().splitlines()) for m in MODULES) < 80


def test_each_module_opens_with_the_question_it_answers() -> None:
    for module in MODULES:
        first = (FOLDER / f"{module}.py").read_text().splitlines()[0]
        assert re.fullmatch(r'"""[^:]+: .+\?', first), module


def test_home_made_logs_are_tried_last() -> None:
    home = [i for i, f in enumerate(FORMATS) if f.name.startswith("app-json")]
    assert home == list(range(len(FORMATS) - len(home), len(FORMATS)))
    assert FORMATS[-1].name == "app-json"


@each()
def test_every_field_and_id_is_known(fmt: Format) -> None:
    assert set(fmt.fields) <= set(SLOTS)
    assert set(fmt.constants) <= set(SLOTS)
    assert set(fmt.ids) <= set(ID_KINDS)
    assert set(fmt.containers) <= set(CONTAINERS)
    assert {*fmt.speaks, *fmt.beside} <= {f.name for f in FORMATS}
    assert fmt.cache_rule in ("inclusive", "exclusive", "unknown")


@each()
def test_what_stands_behind_the_bar_of_a_path_is_a_unit_of_a_duration_or_a_reading(fmt: Format) -> None:
    for slot, paths in (*fmt.fields.items(), *fmt.ids.items(), *(("", (path,)) for path, _ in fmt.framing)):
        for path in paths:
            name, bar, rest = path.partition("|")
            assert name
            if slot in ("duration", "first_token"):
                assert not bar or rest in ("s", "ms", "us", "ns")
            elif bar and rest == "ticks":
                assert slot in ("start", "end", "stamp")
            elif bar:
                assert rest[0] in READINGS
                if rest[0] == "/":
                    assert re.compile(rest[1:].rpartition("/")[0]).groups == ("=" not in rest[-20:])


@each()
def test_a_format_says_what_it_is_what_it_hides_and_how_to_get_it(fmt: Format) -> None:
    assert fmt.title
    assert fmt.tenant_says
    assert fmt.blind_spots
    assert fmt.export
    assert fmt.links
    assert fmt.accepts
    assert fmt.refuses
    assert all(link.startswith("https://") for link in fmt.links)
    assert len({b.code for b in fmt.blind_spots}) == len(fmt.blind_spots)


@pytest.mark.parametrize(("fmt", "text"), ACCEPTED, ids=[f.name for f, _ in ACCEPTED])
def test_an_accepted_record_is_of_its_format_and_of_none_tried_before(fmt: Format, text: str) -> None:
    assert next(f.name for f in FORMATS if takes(f, text)) == fmt.name


@pytest.mark.parametrize(("fmt", "text"), REFUSED, ids=[f.name for f, _ in REFUSED])
def test_a_refused_record_is_not_of_the_format(fmt: Format, text: str) -> None:
    assert not takes(fmt, text)


@pytest.mark.parametrize(("fmt", "text"), TELLING, ids=[f.name for f, _ in TELLING])
def test_an_accepted_record_fills_slots_unless_it_is_framing(fmt: Format, text: str) -> None:
    row = slots(fmt, text)
    assert set(row) == set(RAW_COLUMNS) | ({"cache_rule"} if fmt.cache_rules else set())
    assert Extractor(fmt).is_framing(record(fmt, text)) or any(v is not None for v in row.values())


def test_text_that_names_neither_model_nor_tokens_has_no_fields() -> None:
    assert {f.name for f in FORMATS if f.chatter} == {f.name for f in FORMATS if not f.fields}


def test_anthropic_counts_are_kept_apart_and_marked_exclusive() -> None:
    fmt = by_name("anthropic-messages")
    row = slots(fmt, fmt.accepts[0])
    assert fmt.cache_rule == "exclusive"
    assert (row["prompt"], row["cache_read"], row["cache_write"]) == ("46754", "655360", "0")


def test_tokens_written_to_the_cache_by_how_long_they_stay_are_added_in_home_made_logs() -> None:
    fmt = by_name("app-json-anthropic")
    row = slots(fmt, fmt.accepts[2])
    assert (row["prompt"], row["cache_read"], row["cache_write"]) == ("5", None, "700000")


def test_cached_tokens_of_an_own_name_leave_the_rule_unknown() -> None:
    fmt = by_name("app-json-uncertain")
    row = slots(fmt, fmt.accepts[0])
    assert (row["prompt"], row["cache_read"], fmt.cache_rule) == ("46754", "655360", "unknown")


def test_encrypted_bodies_give_no_count_and_no_tenant() -> None:
    fmt = by_name("cloudflare-aig-logpush")
    row = slots(fmt, fmt.accepts[0])
    assert (row["prompt"], row["tenant"], row["user"], row["http_status"]) == (None, None, None, "200")


def test_a_stream_kept_as_text_gives_its_last_usage() -> None:
    text = (
        '{"Model":"m","Provider":"workers-ai","StatusCode":200,"Timestamp":"2026-09-02T08:41:12Z","ResponseBody":'
        '"data: {\\"choices\\":[{}]}\\n\\n'
        'data: {\\"choices\\":[],\\"usage\\":{\\"prompt_tokens\\":702114}}\\n\\ndata: [DONE]\\n"}'
    )
    assert slots(by_name("cloudflare-aig-logpush"), text)["prompt"] == "702114"


def test_an_error_reply_without_tokens_keeps_model_and_status() -> None:
    text = '{"ts":1788487929.031,"request":{"model":"m"},"status":400,"response":{"error":{"message":"x","code":400}}}'
    row = slots(by_name("http-dump"), text)
    assert (row["model"], row["http_status"], row["error"]) == ("m", "400", "400")
    assert (row["prompt"], row["output"]) == (None, None)


@pytest.mark.parametrize(
    ("text", "name", "prompt"),
    [
        (
            '{"request":{"model":"m"},"response":{"body":{"usage":{"input_tokens":9,"cache_read_input_tokens":8}}}}',
            "anthropic-messages",
            "9",
        ),
        ('{"request":{"model":"m"},"response":"data: {\\"usage\\":{\\"prompt_tokens\\":7}}\\n\\n"}', "http-dump", "7"),
        (
            '{"request":{"body":"{\\"model\\":\\"m\\"}"},"response":{"body":{"usage":{"prompt_tokens":7}}}}',
            "http-dump",
            "7",
        ),
        ('{"result":{"response":"x","usage":{"prompt_tokens":7}},"success":true,"errors":[]}', "app-json", "7"),
        ('{"data":{"model":"m","promptTokens":1},"prompt_tokens":7}', "app-json", "7"),
        ('{"model":"m","usage":{"prompt_tokens":7,"cached_tokens":6}}', "app-json-uncertain", "7"),
    ],
)
def test_a_shape_between_formats_falls_to_the_right_one(text: str, name: str, prompt: str) -> None:
    first = next(f for f in FORMATS if Extractor(f).matches(value(text)))
    assert (first.name, slots(first, text)["prompt"]) == (name, prompt)


def test_a_native_call_names_its_model_in_the_address_only() -> None:
    url = "https://api.cloudflare.com/client/v4/accounts/a/ai/run/@cf/zai-org/glm-5.3"
    text = f'{{"url":"{url}","status":499,"request":{{"messages":[]}},"response":null}}'
    fmt = next(f for f in FORMATS if Extractor(f).matches(value(text)))
    assert (fmt.name, slots(fmt, text)["model"]) == ("http-dump", url)


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    with pytest.raises(UsageError, match="cloudflare-aig-rest"):
        by_name("cloudflare-aig-rst")
    with pytest.raises(UsageError, match="litellm-spendlogs"):
        by_name("litellm")


def test_a_far_name_is_answered_with_where_to_look() -> None:
    with pytest.raises(UsageError, match="kvforensics formats"):
        by_name("zzzz")


ACCESS = [
    ("nginx-json", 0, "POST /client/v4/accounts/a/ai/run/@cf/zai-org/glm-5.3 HTTP/2.0", "200", "2935567"),
    ("envoy-json", 1, "/v1/chat/completions", "0", None),
    ("envoy-text", 1, "/v1/chat/completions", "0", "2980653"),
    ("traefik-clf", 1, "/v1/chat/completions", None, None),
    ("nginx-combined", 1, None, "400", None),
    ("nginx-combined", 2, "/v1/chat/completions", "200", "2935567"),
    ("apache-combined", 0, "/ai/run/@cf/zai-org/glm-5.3", "200", "2935567"),
    ("haproxy", 1, "/v1/chat/completions", "-1", None),
    ("haproxy", 2, None, "400", None),
    ("alb", 1, "https://llm.example.com:443/v1/chat/completions", None, "2980653"),
]


@pytest.mark.parametrize(("name", "sample", "model", "status", "size"), ACCESS)
def test_an_access_line_gives_address_status_and_size(
    name: str, sample: int, model: str | None, status: str | None, size: str | None
) -> None:
    fmt = by_name(name)
    row = slots(fmt, fmt.accepts[sample])
    assert (row["model"], row["http_status"], row["request_bytes"]) == (model, status, size)


@pytest.mark.parametrize("name", ["nginx-combined", "traefik-clf", "traefik-json"])
def test_a_dash_is_no_user(name: str) -> None:
    fmt = by_name(name)
    rows = [slots(fmt, text)["user"] for text in fmt.accepts]
    assert set(rows) <= {None, "team-a"}


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_a_method_without_a_body_is_no_model_call(method: str) -> None:
    fmt = by_name("envoy-text")
    line = fmt.accepts[0].replace('"POST ', f'"{method} ')
    assert Extractor(fmt).is_framing(record(fmt, line))
    assert not Extractor(fmt).is_framing(record(fmt, fmt.accepts[0]))


def test_ticks_are_read_where_the_path_says_so() -> None:
    fmt = by_name("azure-openai")
    assert slots(fmt, fmt.accepts[0])["start"] == "2026-09-02T08:41:12.9070000Z"
    row = slots(fmt, '{"correlationId":"1","properties":{"requestTime":"soon","requestLength":1},"time":"t"}')
    assert (row["start"], row["stamp"]) == ("soon", "t")


def test_later_rows_of_a_request_are_framing() -> None:
    fmt = by_name("azure-apim-llm")
    later = {"correlationId": "1", "properties": {"sequenceNumber": 1, "promptTokens": 0}}
    assert Extractor(fmt).is_framing(later)
    assert not Extractor(fmt).is_framing({**later, "properties": {"sequenceNumber": 0}})
