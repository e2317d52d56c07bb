"""Do encrypted Logpush fields open for their owner, and for nobody else?"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from kvforensics.case import Case, CheckOptions, CheckResult, RunFacts
from kvforensics.errors import UsageError
from kvforensics.sealed import Opener, load_private_keys

ANSWER = "an answer that nobody else may read"
AES_KEY, IV = bytes(range(32)), bytes(range(12))


@pytest.fixture(scope="session")
def keys() -> tuple[rsa.RSAPrivateKey, rsa.RSAPrivateKey]:
    return rsa.generate_private_key(65537, 2048), rsa.generate_private_key(65537, 2048)


@pytest.fixture
def files(keys: tuple[rsa.RSAPrivateKey, rsa.RSAPrivateKey], tmp_path: Path) -> tuple[str, str]:
    found = []
    for name, key, form in zip(
        ("own.pem", "other.pem"), keys, (PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL), strict=True
    ):
        path = tmp_path / name
        path.write_bytes(key.private_bytes(Encoding.PEM, form, NoEncryption()))
        found.append(str(path))
    return found[0], found[1]


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def sealed(key: rsa.RSAPrivateKey, text: str) -> dict[str, str]:
    wrapped = key.public_key().encrypt(AES_KEY, OAEP(MGF1(SHA256()), SHA256(), None))
    return {
        "type": "encrypted",
        "key": b64(wrapped),
        "iv": b64(IV),
        "data": b64(AESGCM(AES_KEY).encrypt(IV, text.encode(), None)),
    }


def row(tokens: int, team: str, model: str = "@cf/zai-org/glm-5.3") -> dict[str, Any]:
    body = {
        "id": f"chatcmpl-{tokens}", "choices": [{"message": {"content": ANSWER}}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 9},
    }  # fmt: skip
    return {
        "Cached": False, "Gateway": "prod", "Metrics": {"durationMs": 100}, "Model": model, "Provider": "workers-ai",
        "StatusCode": 200, "Timestamp": "2026-09-02T08:41:12Z", "Metadata": json.dumps({"team": team}),
        "RequestBody": json.dumps({"messages": [ANSWER]}), "ResponseBody": json.dumps(body),
    }  # fmt: skip


ROWS = [row(702114, "a"), row(18233, "b"), row(681281, "a"), row(900000, "c", "@cf/meta/llama-3")]


def closed(rows: list[dict[str, Any]], key: rsa.RSAPrivateKey) -> list[dict[str, Any]]:
    bodies = ("Metadata", "RequestBody", "ResponseBody")
    return [r | {name: sealed(key, r[name]) for name in bodies} for r in rows]


def written(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return str(path)


def checked(log: str, *private_keys: str, case: Path | None = None, workers: int = 1) -> CheckResult:
    options = CheckOptions((log,), private_keys=private_keys, workers=workers, case_dir=str(case) if case else None)
    with Case() as one:
        result = one.check(options)
        if case is not None:
            one.write_case(str(case), RunFacts(0.0, "here", workers))
    return result


def told(result: CheckResult) -> list[tuple[Any, ...]]:
    wanted = (
        "line",
        "disposition",
        "prompt_tokens_min",
        "prompt_tokens_max",
        "token_basis",
        "tenant",
        "correlation",
        "parts",
    )
    return [tuple(str(d[k]) for k in wanted) for d in result.top]


def test_opened_bodies_give_the_verdict_of_their_decrypted_twin(tmp_path: Path, keys: Any, files: Any) -> None:
    clear = checked(written(tmp_path / "clear.ndjson", ROWS))
    opened = checked(written(tmp_path / "sealed.ndjson", closed(ROWS, keys[0])), files[1], files[0])
    assert told(opened) == told(clear)
    assert [d["disposition"] for d in opened.top] == ["affected", "affected"]
    assert opened.summary["tenants"] == clear.summary["tenants"]
    assert opened.summary["inputs"][0]["problems"] == []


def test_without_a_key_counts_stay_unknown_and_a_warning_names_the_option(tmp_path: Path, keys: Any) -> None:
    result = checked(written(tmp_path / "sealed.ndjson", closed(ROWS, keys[0])))
    assert {d["disposition"] for d in result.top} == {"possible"}
    (warning,) = [w for w in result.summary["warnings"] if w["code"] == "encrypted_fields"]
    assert "3 records of sealed.ndjson" in warning["message"]
    assert "--private-key" in warning["message"]
    assert result.summary["inputs"][0]["problems"] == []


def test_a_wrong_key_is_one_named_problem_of_the_file_and_the_run_goes_on(
    tmp_path: Path, keys: Any, files: Any
) -> None:
    result = checked(written(tmp_path / "sealed.ndjson", closed(ROWS, keys[0])), files[1])
    assert result.exit_status == 11
    assert result.summary["complete"]
    assert result.summary["inputs"][0]["problems"] == ["wrong_private_key: 3 of 3 encrypted records stay closed"]
    assert [w["code"] for w in result.summary["warnings"]].count("wrong_private_key") == 1
    assert {r.partition(":")[0] for d in result.top for r in d["reasons"]} >= {"wrong_private_key"}


def test_a_key_that_was_changed_on_the_way_opens_its_part(tmp_path: Path, keys: Any, files: Any) -> None:
    rows = [*closed(ROWS[:1], keys[0]), *closed(ROWS[2:3], keys[1])]
    log = written(tmp_path / "sealed.ndjson", rows)
    half, whole = checked(log, files[0]), checked(log, *files)
    assert [d["disposition"] for d in half.top] == ["affected", "possible"]
    assert half.summary["inputs"][0]["problems"] == ["wrong_private_key: 1 of 2 encrypted records stay closed"]
    assert [d["disposition"] for d in whole.top] == ["affected", "affected"]


@pytest.mark.parametrize("part", ["key", "iv", "data"])
def test_damaged_data_is_told_from_a_wrong_key(tmp_path: Path, keys: Any, files: Any, part: str) -> None:
    (record,) = closed(ROWS[:1], keys[0])
    record["ResponseBody"][part] = "AAAA" if part == "data" else "***"
    result = checked(written(tmp_path / "sealed.ndjson", [record]), files[0])
    assert result.summary["inputs"][0]["problems"] == ["damaged_encryption: 1 of 1 encrypted records stay closed"]
    assert (result.top[0]["disposition"], result.top[0]["tenant"]) == ("possible", "a")


def test_no_plaintext_and_no_key_is_in_a_case(tmp_path: Path, keys: Any, files: Any) -> None:
    log = written(tmp_path / "sealed.ndjson", closed(ROWS, keys[0]))
    result = checked(log, files[0], case=tmp_path / "case")
    stored = b"".join(p.read_bytes() for p in (tmp_path / "case").rglob("*") if p.is_file())
    assert ANSWER.encode() not in stored
    assert b"PRIVATE KEY" not in stored
    assert ANSWER not in json.dumps([result.summary, *result.top], default=str)
    public = keys[0].public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    case = json.loads((tmp_path / "case/case.json").read_text())
    assert case["private_keys"] == [{"public_key_sha256": hashlib.sha256(public).hexdigest()}]
    evidence = sorted((tmp_path / "case/evidence").iterdir())
    assert all(b'"type": "encrypted"' in p.read_bytes() for p in evidence)
    assert len(evidence) == 2


def test_rows_of_other_models_and_request_bodies_stay_closed(keys: Any, files: Any) -> None:
    opener = Opener(load_private_keys(files[:1]))
    (record,) = closed(ROWS[:1], keys[0])
    opened = opener.open(record, ("Metadata", "ResponseBody"))
    assert opened is not None
    assert opened[0]["RequestBody"] == record["RequestBody"]
    assert opener.open(ROWS[0], ("Metadata", "ResponseBody")) is None
    assert (opener.tally.records, opener.tally.wrong_key) == (1, 0)


def test_encrypted_fields_open_in_csv_too(tmp_path: Path, keys: Any, files: Any) -> None:
    rows = [
        r | {n: json.dumps(r[n]) for n in ("Metadata", "RequestBody", "ResponseBody")} for r in closed(ROWS, keys[0])
    ]
    names = [n for n in rows[0] if n != "Metrics"]
    lines = [names, *([str(r[n]) for n in names] for r in rows)]
    path = tmp_path / "sealed.csv"
    quoted = (",".join('"' + v.replace('"', '""') + '"' for v in line) for line in lines)
    path.write_text("\n".join(quoted) + "\n", encoding="utf-8")
    result = checked(str(path), files[0])
    assert [(d["disposition"], d["prompt_tokens_min"], d["tenant"]) for d in result.top] == [
        ("affected", 702114, "a"), ("affected", 681281, "a"),
    ]  # fmt: skip


def test_a_mapping_reads_encrypted_fields_under_other_names(tmp_path: Path, keys: Any, files: Any) -> None:
    record = {
        "at": "2026-09-02T08:41:12Z",
        "m": "@cf/zai-org/glm-5.3",
        "code": 200,
        "answer": sealed(keys[0], ROWS[0]["ResponseBody"]),
    }
    mapping = tmp_path / "map.toml"
    mapping.write_text(
        'schema = "kvforensics.mapping/1"\nname = "renamed"\n[fields]\nstart = "at"\nmodel = "m"\nstatus = "code"\n'
        'prompt_tokens = { path = "answer.usage.prompt_tokens", cache_rule = "inclusive" }\n',
        encoding="utf-8",
    )
    with Case() as case:
        log = written(tmp_path / "renamed.jsonl", [record])
        result = case.check(CheckOptions((log,), mappings=(str(mapping),), private_keys=files[:1]))
    assert [(d["disposition"], d["prompt_tokens_min"]) for d in result.top] == [("affected", 702114)]


def test_several_processes_open_what_one_opens(
    tmp_path: Path, keys: Any, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ingest", "workers"):
        monkeypatch.setattr(f"kvforensics.{name}.PARALLEL_FROM", 1)
    log = written(tmp_path / "sealed.ndjson", closed(ROWS, keys[0]) * 2)
    alone, together = checked(log, files[0]), checked(log, files[0], workers=2)
    assert told(together) == told(alone)
    assert together.summary == alone.summary


def test_a_key_is_known_by_its_public_half_whatever_form_its_file_has(tmp_path: Path, keys: Any, files: Any) -> None:
    path = tmp_path / "own.der"
    path.write_bytes(keys[0].private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()))
    (key,) = load_private_keys([files[0], str(path)])
    assert key.der.hex() not in repr(key)
    assert str(key.der) not in repr(key)


def unusable(key: rsa.RSAPrivateKey) -> dict[str, tuple[bytes, str]]:
    curve = ec.generate_private_key(ec.SECP256R1())
    locked = BestAvailableEncryption(b"x")
    return {
        "password": (key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked), "protected by a password"),
        "old password": (
            key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, locked),
            "protected by a password",
        ),
        "public": (key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), "is a public key"),
        "curve": (curve.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), "not an RSA key"),
        "certificate": (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "is a certificate"),
        "text": (b"hello", "is not a private key"),
        "empty": (b"", "is not a private key"),
    }


@pytest.mark.parametrize("kind", ["password", "old password", "public", "curve", "certificate", "text", "empty"])
def test_a_file_that_is_no_open_rsa_key_is_a_usage_error_that_names_it(tmp_path: Path, keys: Any, kind: str) -> None:
    data, said = unusable(keys[0])[kind]
    path = tmp_path / "key.pem"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=said) as refused:
        load_private_keys([str(path)])
    assert refused.value.where == str(path)
    assert refused.value.exit_status == 2


def test_a_missing_key_file_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_private_keys(["no/such/key.pem"])


def test_without_the_package_the_error_says_how_to_install_it(files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    with pytest.raises(UsageError, match=r"kvforensics\[logpush\]"):
        load_private_keys(files[:1])
