"""Does an incident file say exactly one thing, or give one clear error?"""

from __future__ import annotations

import datetime as dt
import hashlib
from pathlib import Path

import pytest

from kvforensics.errors import UsageError
from kvforensics.incident import DEFAULT_INCIDENT, load_incident, parse_incident, shipped_incidents, template

HOUR = 3_600_000_000
MINIMAL = """schema = "kvforensics.incident/1"
id = "x"
title = "X"
[window]
start = 2026-01-01T00:00:00Z
end = 2026-01-02T00:00:00+02:00
[threshold]
prompt_tokens_over = 100
[model]
ids = ["a/b"]
"""


def us(text: str) -> int:
    return int(dt.datetime.fromisoformat(text).timestamp()) * 1_000_000


def test_the_shipped_incident_asks_the_question_of_the_contract() -> None:
    incident = load_incident(DEFAULT_INCIDENT)
    assert DEFAULT_INCIDENT in shipped_incidents()
    assert load_incident() == incident
    assert (incident.start_us, incident.end_us) == (us("2026-08-27T00:00:00+00:00"), us("2026-09-09T14:00:00+00:00"))
    assert incident.uncertain_until_us == us("2026-09-09T14:52:00+00:00")
    assert (incident.prompt_tokens_over, incident.uncertain_from, incident.template_allowance) == (681280, 681274, 4096)
    assert (incident.max_gap_us, incident.max_request_us, incident.context_length) == (24 * HOUR, HOUR, 1048576)
    assert incident.model_ids == ("@cf/zai-org/glm-5.3",)
    assert incident.published_affected_responses == 155
    assert (us("2026-09-08T23:11:00+00:00"), "Report received") in incident.timeline


def test_every_shipped_incident_is_named_after_its_id() -> None:
    for name in shipped_incidents():
        assert load_incident(name).id == name


def test_optional_keys_have_the_defaults_of_the_contract() -> None:
    incident = parse_incident(MINIMAL.encode(), "x.toml")
    assert incident.end_us == us("2026-01-01T22:00:00+00:00")
    assert incident.uncertain_until_us == incident.end_us
    assert incident.uncertain_from == 101
    assert (incident.max_gap_us, incident.max_request_us, incident.template_allowance) == (24 * HOUR, HOUR, 4096)
    assert incident.context_length is None
    assert incident.published_affected_responses is None
    assert (incident.model_names, incident.providers, incident.hosts, incident.other_hosts) == ((), (), (), ())
    assert incident.digest == hashlib.sha256(MINIMAL.encode()).hexdigest()


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [("24h", 24 * HOUR), ("90m", 90 * HOUR // 60), ("1h30m", 90 * HOUR // 60), ("3600s", HOUR), ("2d", 48 * HOUR)],
)
def test_a_duration_is_read_in_its_units(text: str, microseconds: int) -> None:
    data = MINIMAL.replace("[threshold]", f'max_gap = "{text}"\n[threshold]')
    assert parse_incident(data.encode(), "x.toml").max_gap_us == microseconds


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('id = "x"\n', "", "id is missing"),
        ('id = "x"', 'id = "../x"', "x.toml:2: id should be lower-case"),
        ('id = "x"', "id = 5", "x.toml:2: id should be a text"),
        ('title = "X"', 'title = "X"\nextra = 1', "x.toml:4: extra is not a known key"),
        ("incident/1", "incident/2", "x.toml:1: schema should be"),
        (
            "start = 2026-01-01T00:00:00Z",
            "start = 2026-01-01T00:00:00",
            "x.toml:5: window.start should be a date and time",
        ),
        ("start = 2026-01-01T00:00:00Z", "start = 2026-01-01", "x.toml:5: window.start should be a date and time"),
        ("start = 2026-01-01T00:00:00Z", 'start = "2026-01-01T00:00:00Z"', "x.toml:5: window.start should be a date"),
        ("start = 2026-01-01T00:00:00Z", "start = 2026-01-01T22:00:00Z", "x.toml:6: window.end should be later"),
        ("[threshold]", "uncertain_until = 2026-01-01T00:00:00Z\n[threshold]", "window.uncertain_until should not be"),
        ("[threshold]", 'max_gap = "1 day"\n[threshold]', "x.toml:7: window.max_gap should be a duration"),
        ("[threshold]", 'max_gap = ""\n[threshold]', "window.max_gap should be a duration"),
        ("[threshold]", 'max_gap = "0h"\n[threshold]', "window.max_gap should be a duration longer"),
        ("[threshold]", "max_gap = 24\n[threshold]", "window.max_gap should be a duration"),
        ("= 100", "= true", "x.toml:8: threshold.prompt_tokens_over should be a whole number"),
        ("= 100", "= 1e5", "threshold.prompt_tokens_over should be a whole number"),
        ("= 100", "= -1", "threshold.prompt_tokens_over should be a whole number"),
        ("= 100", "= 100\nuncertain_from = 102", "threshold.uncertain_from should not be more"),
        ("= 100", "= 100\ncontext_length = 100", "threshold.context_length should be more"),
        ('["a/b"]', "[]", "x.toml:10: model.ids should not be empty"),
        ('["a/b"]', '"a/b"', "model.ids should be a list"),
        ('["a/b"]', '[""]', "model.ids should be a list of texts"),
        ('["a/b"]', '["a/b"]\nhosts = ["https://x.example.com"]', "model.hosts holds"),
        ('["a/b"]', '["a/b"]\nnames = ["x/y"]', "model.names holds"),
        ('["a/b"]', '["a/b"]\nproviders = ["P"]\nother_providers = ["p"]', "model.other_providers names"),
        ("[model]", "[model", "x.toml: not TOML"),
        ("[window]", "[windows]", "windows is not a known key"),
        ('["a/b"]', '["a/b"]\n[[timeline]]\nat = 2026-01-01T00:00:00Z', "timeline.what is missing"),
        ('["a/b"]', '["a/b"]\n[timeline]\nat = 1', "timeline should be tables"),
        (
            '["a/b"]',
            '["a/b"]\n[published]\naffected_responses = "155"',
            "published.affected_responses should be a whole",
        ),
    ],
)
def test_what_is_wrong_is_one_usage_error_that_names_the_key(old: str, new: str, says: str) -> None:
    assert old in MINIMAL
    with pytest.raises(UsageError) as error:
        parse_incident(MINIMAL.replace(old, new, 1).encode(), "x.toml")
    assert says in str(error.value)
    assert str(error.value).startswith("x.toml")
    assert error.value.exit_status == 2


def test_a_file_that_is_not_utf8_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="not UTF-8 at byte 1"):
        parse_incident(b"#\xff", "x.toml")


def test_an_unknown_incident_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=DEFAULT_INCIDENT):
        load_incident("no-such-incident")


def test_the_template_is_a_valid_incident_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(template(), encoding="utf-8")
    assert load_incident(str(path)).id == "my-incident"


def test_every_commented_line_of_the_template_is_valid_too() -> None:
    lines = [line.removeprefix("# ") for line in template().splitlines()]
    incident = parse_incident("\n".join(lines).encode(), "mine.toml")
    assert incident.uncertain_from == 99990
    assert incident.timeline == ((us("2026-01-01T12:00:00+00:00"), "Report received"),)
