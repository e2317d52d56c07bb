"""Is the affected model told from its namesakes, and left open where the record does not say?"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvforensics import model_id
from kvforensics.incident import load_incident
from kvforensics.model_id import ModelReader

READER = ModelReader(load_incident())
API = "https://api.cloudflare.com/client/v4/accounts/0123/ai/v1"
GATEWAY = "https://gateway.ai.cloudflare.com/v1/0123/prod-gw"


@pytest.mark.parametrize(
    "model",
    [
        "@cf/zai-org/glm-5.3", "@CF/Zai-Org/GLM-5.3", " @cf/zai-org/glm-5.3 ", "workers-ai/@cf/zai-org/glm-5.3",
        "cloudflare/@cf/zai-org/glm-5.3", "openai/@cf/zai-org/glm-5.3", "cloudflare-ai-gateway/workers-ai/@cf/zai-org/glm-5.3",
        "%40cf%2Fzai-org%2Fglm-5.3", "%2540cf%252Fzai-org%252Fglm-5.3", "@cf/zai-org/glm-5.3-20260827", "@cf/zai-org/glm-5.3/",
        "/client/v4/accounts/0123/ai/run/@cf/zai-org/glm-5.3", "/ai/run/%40cf/zai-org/glm-5.3?stream=true",
        "https://api.cloudflare.com/client/v4/accounts/0123/ai/run/@cf/zai-org/glm-5.3?x=/y#z",
        "https://gateway.ai.cloudflare.com/v1/0123/gw/workers-ai/@cf/zai-org/glm-5.3",
    ],
)  # fmt: skip
def test_an_id_is_the_model_in_every_spelling_and_at_every_host(model: str) -> None:
    assert READER.read(model, None, None) is True
    assert READER.read(model, "zai", "api.z.ai", provider_serves=True) is True
    assert READER.is_plainly_other(model) is False


@pytest.mark.parametrize(
    "model",
    [
        "@cf/zai-org/glm-5.3-flash", "workers-ai/@cf/zai-org/glm-5.3-flash", "@cf/zai-org/glm-5.2", "glm-5.3-flash", "glm-5.30",
        "@cf/zai-org/glm-5.3-20261399", "@cf/zai-org/glm-5.3-2026", "x@cf/zai-org/glm-5.3x", "zai.glm-5.3", "glm-5", "gpt-5.2",
        "@cf/moonshotai/kimi-k2.6", "claude-opus-4-6", "mistral-large-latest", "/ai/run/@cf/moonshotai/kimi-k2.6",
        "https://api.cloudflare.com/client/v4/accounts/0123/ai/run/@cf/zai-org/glm-5.3-flash", "glm-5.3.1", "my-glm-5.3",
    ],
)  # fmt: skip
def test_a_longer_or_other_name_is_another_model_whatever_the_host(model: str) -> None:
    assert READER.is_plainly_other(model) is True
    assert READER.read(model, "workers-ai", API, provider_serves=True) is False
    assert READER.read(model, None, None) is False


@pytest.mark.parametrize(
    "model", ["glm-5.3", "GLM-5.3", "z-ai/glm-5.3", "zai/glm-5.3", "zai-org/glm-5.3", "glm-5.3-20260827"]
)
@pytest.mark.parametrize(
    ("provider", "host", "answer"),
    [
        (None, None, None),
        ("workers-ai", None, True), ("Workers AI", None, True), ("WORKERS_AI", None, True), ("Cloudflare", None, True),
        ("workersai.chat", None, True),
        ("zai", None, False), ("Z.AI", None, False), ("zhipu", None, False), ("fireworks_ai", None, False),
        ("openai", None, None), ("custom", None, None), ("openai.chat", None, None), ("openai-compatible", None, None),
        ("acme", None, None), ("", "", None), ("-", "-", None),
        (None, API, True), (None, "api.cloudflare.com", True), (None, "api.cloudflare.com:443", True),
        (None, "API.Cloudflare.com.", True), (None, "api.z.ai", False), (None, "https://api.z.ai/api/paas/v4", False),
        (None, "eu.api.z.ai", False), (None, "notapi.z.ai", None), (None, "api.cloudflare.com.example.com", None),
        (None, "https://user@api.cloudflare.com/x", True), (None, "https://llm.example.com/api.cloudflare.com", None),
        ("openai", API, True), ("zai", API, True), ("workers-ai", "api.z.ai", False),
        (None, f"{GATEWAY}/workers-ai/v1", True), (None, f"{GATEWAY}/zai/v1", False), (None, f"{GATEWAY}/compat", None),
        ("zai", f"{GATEWAY}/compat", False), ("workers-ai", f"{GATEWAY}/compat/chat/completions", True),
        (None, f"{GATEWAY}/custom-acme/v1", None), (None, "gateway.ai.cloudflare.com", True),
    ],
)  # fmt: skip
def test_a_short_name_is_decided_by_host_then_provider(
    model: str, provider: str | None, host: str | None, answer: bool | None
) -> None:
    assert READER.read(model, provider, host) is answer
    assert READER.is_plainly_other(model) is False


@pytest.mark.parametrize(
    ("provider", "answer"),
    [("Cloudflare", True), ("workers-ai", True), ("custom-zai", False), ("Z.AI", False), ("Acme", False), ("openai", False),
     ("", None), (None, None), ("unknown", None), ("compat", None)],
)  # fmt: skip
def test_a_field_that_says_who_served_makes_any_other_name_another_host(
    provider: str | None, answer: bool | None
) -> None:
    assert READER.read("z-ai/glm-5.3", provider, None, provider_serves=True) is answer


def test_a_prefix_names_the_incident_s_provider_or_nothing() -> None:
    assert READER.read("workers-ai/glm-5.3", None, None) is True
    assert READER.read("cloudflare/glm-5.3", "openai", None) is True
    assert READER.read("fireworks/glm-5.3", None, None) is None
    assert READER.read("cloudflare/glm-5.3", None, "api.z.ai") is False


@pytest.mark.parametrize(
    "model",
    [None, "", "  ", "/", "dynamic/long-context", "big-context", "openai/big-context", "default", "/v1/chat/completions",
     "https://llm.example.com/v1/chat/completions", "z-ai/glm-5.3:free", '"@cf/zai-org/glm-5.3"', "['@cf/zai-org/glm-5.3']",
     "@cf/zai-org/glm-5.3@latest", "@cf/zai-org/glm-5.3 (workers-ai)", "zai:glm-5.3", "glm-5-3", "GLM 5.3", "glm5.3",
     "workers-ai/@cf/zai-org/glm-5.3/chat", "@cf/zai-org/glm-5.3, gpt-5.2"],
)  # fmt: skip
def test_no_model_a_route_an_alias_or_a_path_without_model_is_open_unless_the_call_went_elsewhere(
    model: str | None,
) -> None:
    assert READER.read(model, None, None) is None
    assert READER.read(model, "workers-ai", API) is None
    assert READER.read(model, "zai", None) is False
    assert READER.read(model, None, "api.z.ai") is False
    assert READER.read(model, "acme", None, provider_serves=True) is False
    assert READER.is_plainly_other(model or "") is False


def test_a_url_as_model_text_tells_its_host() -> None:
    assert READER.read("https://api.z.ai/api/paas/v4/chat/completions", None, None) is False
    assert READER.read("/v1/0123/gw/zai/chat/completions", None, "gateway.ai.cloudflare.com") is False
    assert READER.read("/v1/0123/gw/workers-ai/v1/chat/completions", None, "gateway.ai.cloudflare.com") is None


@settings(derandomize=True, deadline=None)
@given(st.text(max_size=40), st.one_of(st.none(), st.text(max_size=12)), st.one_of(st.none(), st.text(max_size=20)))
def test_what_is_plainly_other_is_never_read_as_anything_else(
    model: str, provider: str | None, host: str | None
) -> None:
    answer = READER.read(model, provider, host)
    if READER.is_plainly_other(model):
        assert answer is False


def test_the_memory_of_names_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_id, "CACHE_SIZE", 8)
    reader = ModelReader(load_incident())
    for n in range(100):
        assert reader.is_plainly_other(f"gpt-{n}")
        assert reader.read(f"gpt-{n}", None, None) is False
    assert reader.is_plainly_other("x9" * 10_000)


@pytest.mark.parametrize(
    ("raw", "answer"),
    [
        (b'{"model":"@cf/zai-org/glm-5.3","usa', True),
        (b'{"model":"@CF\\/zai-org\\/GLM-5.3"', True),
        (b'{\\"model\\":\\"@cf\\\\/zai-org\\\\/glm-5.3\\"', True),
        (b'"\\u0040cf\\u002fzai-org\\u002Fglm-5.3"', True),
        (b"GET /ai/run/%40cf%2Fzai-org%2fglm-5.3 HTTP/1.1", True),
        (b"%2540cf%252Fzai-org%252Fglm-5.3", True),
        ('{"model":"@cf/zai-org/glm-5.3"}'.encode("utf-16"), True),
        (b"z-ai/glm-5.3-20260827 \xff", True),
        (b"I asked glm-5.3.", True),
        (b'{"model":"@cf/zai-or', True),
        (b'{"model":"@cf/zai-org/glm-5.3-flash"}', False),
        (b'{"model":"glm-5.30"}', False),
        (b'{"model":"my-glm-5.3"}', False),
        (b'{"model":"@cf/zai-org/glm-5.2"}', False),
        (b"", False),
    ],
)
def test_a_line_that_could_not_be_read_mentions_the_model_or_not(raw: bytes, answer: bool) -> None:
    assert READER.mentions(raw) is answer


@pytest.mark.parametrize("unit", [b"\\", b"%25", b"glm-5 ", b"@cf/", b"\\/", b"\\u0040"])
def test_escapes_are_undone_in_linear_time(unit: bytes) -> None:
    # A run that is tried again from each of its bytes would take hours here.
    assert READER.mentions(unit * 200_000 + b'"@cf/zai-org/glm-5.3"') is True


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("POST /client/v4/accounts/0123/ai/run/@cf/zai-org/glm-5.3 HTTP/2.0", True),
        ("POST /ai/run/%40CF%2Fzai-org%2Fglm-5.3?stream=true HTTP/1.1", True),
        ("POST https://api.cloudflare.com:443/client/v4/accounts/0123/ai/run/@cf/zai-org/glm-5.3 HTTP/1.1", True),
        ("POST /ai/run/@cf/zai-org/glm-5.2 HTTP/1.1", False),
        ("POST https://api.z.ai/api/paas/v4/chat/completions HTTP/1.1", False),
        ("POST /v1/chat/completions HTTP/1.1", None),
        ("GET / HTTP/1.0", None),
    ],
)
def test_a_request_line_is_read_as_its_target(line: str, answer: bool | None) -> None:
    assert READER.read(line, None, None) is answer
    assert READER.is_plainly_other(line) is (answer is False and "@cf" in line)


def test_bytes_of_nothing_are_looked_through_without_a_call_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    monkeypatch.setattr(model_id, "_unescape", calls.append)
    assert READER.mentions(bytes(100_000) + b"glm-5.3".ljust(100, b" ")) is True
    assert READER.mentions("@cf/zai-org/glm-5.3".encode("utf-16-be") + bytes(100_000)) is True
    assert READER.mentions(bytes(100_000) + b" " * 1000) is False
    assert not calls
