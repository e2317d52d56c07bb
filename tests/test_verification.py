"""Is one flipped byte found, whatever file it is in, and does a forged finding fall to its own records?"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from handed_over import call, files, logs, made_case
from kvforensics.case import Case, CheckOptions, RunFacts
from kvforensics.case_reader import StoredCase, open_case
from kvforensics.custody import Handling, extended
from kvforensics.errors import UsageError
from kvforensics.exports.bundle import CASE, BundleOptions, write_bundle
from kvforensics.sampling import Rated
from kvforensics.sizing import SizingOptions
from kvforensics.verification import Trust, verify

BUNDLES = Path(__file__).parent / "bundles"
NO_SSH = shutil.which("ssh-keygen") is None


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> StoredCase:
    return made_case(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def bundle(case: StoredCase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("bundle") / "bag"
    write_bundle(case, target, BundleOptions(by="A. Person", at="2026-09-10T08:00:00Z", to="the lawyer"))
    return target


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if NO_SSH:
        pytest.skip("needs ssh-keygen")
    folder = tmp_path_factory.mktemp("keys")
    for name in ("lead", "stranger"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    public = (folder / "lead.pub").read_text().split()
    (folder / "signers").write_text(f"lead@example.com {public[0]} {public[1]}\n")
    return folder


def copied(folder: Path, target: Path) -> Path:
    shutil.copytree(folder, target)
    return target


def test_a_case_and_a_bundle_as_they_were_made_are_verified(case: StoredCase, bundle: Path) -> None:
    for path in (case.folder, bundle):
        found = verify(path)
        assert (found.problems, found.exit_status) == ((), 0)
        assert found.checked[-1] == "the findings follow from the records"
        assert found.checked[-2] == "coverage, verdict and estimate follow from what the case keeps"
        assert not any("signature" in name or "time stamp" in name for name in found.checked)
    with pytest.raises(UsageError, match="only bundles are signed"):
        verify(case.folder, Trust(signers=bundle / "bagit.txt"))


def test_one_flipped_byte_anywhere_in_a_bundle_is_found(keys: Path, tmp_path: Path) -> None:
    signed = tmp_path / "signed"
    small = made_case(tmp_path, [call(1), call(2, usage=None), call(3, user_agent="loadtest/1")])
    write_bundle(small, signed, BundleOptions(by="A. Person", key=keys / "lead"))
    trust = Trust(signers=keys / "signers", identity="lead@example.com")
    assert verify(signed, trust).problems == ()
    assert "the signature" in verify(signed, trust).checked
    for name, data in files(signed).items():
        for at in sorted({0, len(data) // 2, len(data) - 1} if data else ()):
            path = signed / name
            path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
            found = verify(signed, trust)
            path.write_bytes(data)
            assert found.exit_status == 13, f"{name} at {at}"
            place = found.problems[0].where.partition(":")[0]
            assert place == name or name.startswith(("manifest-", "tagmanifest-")), f"{name} at {at}: {found.problems[0]}"


@pytest.mark.parametrize(
    "name", ["findings.jsonl", "findings.parquet", "records.parquet", "rejected.jsonl", "activity.parquet"]
)
def test_one_flipped_byte_in_a_case_is_found(case: StoredCase, tmp_path: Path, name: str) -> None:
    copy = copied(case.folder, tmp_path / "case")
    data = bytearray((copy / name).read_bytes())
    data[len(data) // 2] ^= 1
    (copy / name).write_bytes(data)
    assert verify(copy).problems[0].where == name


def resealed(folder: Path, **changed: bytes) -> None:
    """The case with these files in place of its own, and digests that fit them: what a forger would do."""
    document = json.loads((folder / "case.json").read_bytes())
    for name, data in changed.items():
        path = folder / name.replace("_", ".")
        path.write_bytes(data)
        document["files"][path.name] = hashlib.sha256(data).hexdigest()
    (folder / "case.json").write_text(json.dumps(document))


def rewritten(folder: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    lines = [json.loads(line) for line in (folder / "findings.jsonl").read_bytes().splitlines()]
    text = "".join(json.dumps(f, sort_keys=True, separators=(",", ":")) + "\n" for f in change(lines)).encode()
    table = pq.read_table(folder / "findings.parquet")
    kept = {json.loads(line)["finding_id"]: json.loads(line) for line in text.splitlines()}
    table = table.filter(pa.array([i in kept for i in table["finding_id"].to_pylist()]))
    for name in ("disposition", "prompt_tokens_min"):
        at = table.schema.get_field_index(name)
        values = [kept[i][name] for i in table["finding_id"].to_pylist()]
        table = table.set_column(at, table.schema.field(name), pa.array(values, type=table.schema.field(name).type))
    pq.write_table(table, folder / "findings.parquet")
    resealed(folder, findings_jsonl=text, findings_parquet=(folder / "findings.parquet").read_bytes())


def _downgraded(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**f, "disposition": "possible"} if n == 4 else f for n, f in enumerate(findings)]


def test_a_forged_finding_does_not_follow_from_the_records(case: StoredCase, tmp_path: Path) -> None:
    copy = copied(case.folder, tmp_path / "case")
    rewritten(copy, _downgraded)
    problem = verify(copy).problems[0]
    assert (problem.where, problem.what) == ("findings.jsonl:5", "disposition does not follow from the records")


def test_a_finding_that_was_taken_out_is_missed(case: StoredCase, tmp_path: Path) -> None:
    copy = copied(case.folder, tmp_path / "case")
    rewritten(copy, lambda findings: findings[:-1])
    shutil.rmtree(copy / "evidence")
    document = json.loads((copy / "case.json").read_bytes())
    document["options"]["evidence"] = False
    (copy / "case.json").write_text(json.dumps(document))
    assert verify(copy).problems[0].what == "is missing"


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("summary", "responses", "affected"), 3, "responses.affected"),
        (("summary", "tenants", "upper"), 1, "tenants.upper"),
        (("summary", "excluded", "by_rule", "load", "hits"), 9, "excluded.by_rule.load.hits"),
        (("summary", "verdict"), "not_exposed", "verdict"),
        (("summary", "outside", "on_model"), 0, "outside.on_model"),
        (("summary", "coverage", "window_covered"), True, "coverage.window_covered"),
        (("summary", "complete"), False, "complete"),
        (("summary", "estimate", "worst_case", "responses", "upper"), 3, "estimate.worst_case.responses.upper"),
        (("summary", "estimate", "coverage", "hours_with_evidence"), 327, "estimate.coverage.hours_with_evidence"),
        (("summary", "estimate", "sensitivity", 2, "responses", "affected"), 1, "estimate.sensitivity[2].responses.affected"),
        (("summary", "estimate", "per_tenant", "rows", 0, "tenant"), "nobody", "estimate.per_tenant.rows[0].tenant"),
        (("summary", "estimate", "corroboration", "findings"), [], "estimate.corroboration.findings"),
        (("summary", "estimate", "observed", "tenants", "method"), "guessed", "estimate.observed.tenants.method"),
        (("reading", "inputs"), [], "is not built as a case is"),
        (("summary", "ledger", "records"), 1, "ledger"),
        (("inputs", 0, "blank"), 7, "ledger"),
        (("incident", "sha256"), "0" * 64, "incident"),
        (("exclusions", 0, "sha256"), "0" * 64, ""),
        (("queries",), "none", "is missing"),
        (("summary",), {}, ""),
    ],
)
def test_a_forged_number_is_named(case: StoredCase, tmp_path: Path, path: tuple[Any, ...], value: Any, told: str) -> None:
    copy = copied(case.folder, tmp_path / "case")
    document = json.loads((copy / "case.json").read_bytes())
    spot = document
    for key in path[:-1]:
        spot = spot[key]
    spot[path[-1]] = value
    (copy / "case.json").write_text(json.dumps(document))
    found = verify(copy)
    assert found.exit_status == 13
    assert told in found.problems[0].what


def test_sums_samples_and_two_sources_are_sized_again(tmp_path: Path) -> None:
    sizing = SizingOptions(rates=(Rated("proxy.jsonl", 0.5),), two_sources=("app.jsonl", "proxy.jsonl"), scale_gaps=True)
    place = logs(tmp_path)
    day = {"date": "2026-09-02", "metrics": {"api_requests": 2, "prompt_tokens": 5_000_000}}
    daily = {"results": [{**day, "breakdown": {"models": {"@cf/zai-org/glm-5.3": {"metrics": day["metrics"]}}}}]}
    (place / "daily.json").write_text(json.dumps(daily))
    with Case() as run:
        found = run.check(CheckOptions((str(place),), workers=1, sizing=sizing, keep_all=True)).summary["estimate"]
        run.write_case(str(tmp_path / "case"), RunFacts(1.0, "here", 1))
    assert found["aggregates"]
    assert found["two_sources"]
    assert found["sampling"]["strata"]
    assert verify(tmp_path / "case").problems == ()
    document = json.loads((tmp_path / "case" / "case.json").read_bytes())
    document["summary"]["estimate"]["aggregates"][0]["over"][0]["at_most"] = 0
    (tmp_path / "case" / "case.json").write_text(json.dumps(document))
    assert "estimate.aggregates[0].over[0].at_most" in verify(tmp_path / "case").problems[0].what


def test_a_record_of_another_model_that_was_leaned_on_is_kept(case: StoredCase, tmp_path: Path) -> None:
    assert case.count("context") == 1
    copy = copied(case.folder, tmp_path / "case")
    (copy / "context.parquet").unlink()
    document = json.loads((copy / "case.json").read_bytes())
    del document["files"]["context.parquet"]
    (copy / "case.json").write_text(json.dumps(document))
    assert verify(copy).problems[0].where.startswith("findings.jsonl:")


def test_a_case_that_left_settled_records_out_is_judged_again_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "app.jsonl").write_text(
        "".join(json.dumps(call(n, usage={"prompt_tokens": 700_000 if n < 3 else 9})) + "\n" for n in range(20))
    )
    with Case() as run:
        run.check(CheckOptions((str(tmp_path / "app.jsonl"),), workers=1))
        run.write_case(str(tmp_path / "case"), RunFacts(1.0, "here", 1))
    made = open_case(tmp_path / "case")
    assert made.count("records") < made.summary["ledger"]["records"]
    assert verify(made.folder).problems == ()


def test_evidence_that_is_missing_or_extra_is_named(case: StoredCase, tmp_path: Path) -> None:
    copy = copied(case.folder, tmp_path / "case")
    gone = min((copy / "evidence").iterdir())
    gone.unlink()
    extra = hashlib.sha256(b"extra").hexdigest()
    (copy / "evidence" / extra).write_bytes(b"extra")
    assert {p.where for p in verify(copy).problems} == {f"evidence/{gone.name}", f"evidence/{extra}"}


def test_a_bundle_without_evidence_says_what_was_not_checked(case: StoredCase, tmp_path: Path) -> None:
    made = write_bundle(case, tmp_path / "bag", BundleOptions(evidence=False))
    assert made.left_out == ("evidence", "evidence/rejected.jsonl")
    found = verify(tmp_path / "bag")
    assert found.exit_status == 0
    assert any("left out" in note for note in found.notes)


def test_the_signer_must_be_the_one_that_is_asked_for(case: StoredCase, keys: Path, tmp_path: Path) -> None:
    write_bundle(case, tmp_path / "bag", BundleOptions(key=keys / "stranger"))
    assert verify(tmp_path / "bag").exit_status == 0
    assert verify(tmp_path / "bag", Trust(signers=keys / "signers")).problems[0].where == "tagmanifest-sha512.txt.sig"


def test_a_signature_that_was_asked_for_must_be_there(bundle: Path, keys: Path) -> None:
    found = verify(bundle, Trust(signers=keys / "signers"))
    assert found.problems[0].what == "is missing, but signers were named"


def test_ssh_keygen_itself_accepts_the_signature(case: StoredCase, keys: Path, tmp_path: Path) -> None:
    write_bundle(case, tmp_path / "bag", BundleOptions(key=keys / "lead"))
    signed = tmp_path / "bag" / "tagmanifest-sha512.txt"
    command = ["ssh-keygen", "-Y", "verify", "-f", keys / "signers", "-I", "lead@example.com", "-n", "kvforensics-evidence@v1"]
    with signed.open("rb") as given:
        done = subprocess.run([*command, "-s", f"{signed}.sig"], stdin=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_openssl_reads_the_time_stamp_request(bundle: Path) -> None:
    command = ["openssl", "ts", "-query", "-in", str(bundle / "tagmanifest-sha512.txt.tsq"), "-text"]
    text = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    assert "Hash Algorithm: sha512" in text
    assert "Certificate required: yes" in text
    assert "Nonce: unspecified" in text


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_a_time_stamp_is_checked_against_its_authority(bundle: Path, tmp_path: Path) -> None:
    copy = copied(bundle, tmp_path / "bag")
    config = tmp_path / "tsa.cnf"
    config.write_text(
        f"[req]\ndistinguished_name=d\nx509_extensions=e\nprompt=no\n[d]\nCN=Test TSA\n[e]\nbasicConstraints=CA:true\n"
        f"extendedKeyUsage=critical,timeStamping\n[tsa]\ndefault_tsa=t\n[t]\nserial={tmp_path}/serial\n"
        "default_policy=1.2.3.4\ndigests=sha512\nsigner_digest=sha256\n",
        encoding="ascii",
    )
    (tmp_path / "serial").write_text("01")
    key, certificate = tmp_path / "tsa.key", tmp_path / "tsa.pem"
    request, reply = copy / "tagmanifest-sha512.txt.tsq", copy / "tagmanifest-sha512.txt.tsr"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-config", config, "-keyout", key, "-out", certificate,
            "-days", "36500"]  # fmt: skip
    subprocess.run(make, check=True, capture_output=True)
    answer = ["openssl", "ts", "-reply", "-config", config, "-queryfile", request, "-signer", certificate, "-inkey", key,
              "-out", reply]  # fmt: skip
    subprocess.run(answer, check=True, capture_output=True)
    assert verify(copy, Trust(authorities=certificate)).problems == ()
    data = bytearray(reply.read_bytes())
    data[-1] ^= 1
    reply.write_bytes(data)
    assert verify(copy, Trust(authorities=certificate)).problems[0].where == reply.name


def test_custody_may_go_on_after_the_bundle_was_made_but_not_be_rewritten(bundle: Path, tmp_path: Path) -> None:
    copy = copied(bundle, tmp_path / "bag")
    chain = (copy / "custody.jsonl").read_bytes()
    handling = Handling(actor="B", action="received", item_sha256="0" * 64)
    (copy / "custody.jsonl").write_bytes(extended(chain, handling))
    assert verify(copy).problems == ()
    (copy / "custody.jsonl").write_bytes(extended(b"", handling))
    assert verify(copy).problems[0].where == "custody.jsonl"


def test_what_is_neither_a_case_nor_a_bundle_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        verify(tmp_path)
    with pytest.raises(UsageError):
        verify(tmp_path / "none")


@pytest.mark.parametrize("packed", sorted(BUNDLES.glob("*.tar.gz")), ids=lambda p: p.name.removesuffix(".tar.gz"))
def test_a_bundle_of_an_earlier_version_is_verified(packed: Path, tmp_path: Path) -> None:
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    found = verify(tmp_path / "bundle")
    assert found.problems == ()
    assert open_case(tmp_path / "bundle" / CASE).summary["responses"]["affected"] == 3


def test_there_is_a_bundle_of_an_earlier_version_to_verify() -> None:
    assert list(BUNDLES.glob("*.tar.gz"))


def test_a_case_that_other_queries_judged_is_judged_by_its_own(case: StoredCase, tmp_path: Path) -> None:
    """As with a later version: this one asks otherwise, and the case's own questions still give its answers."""
    copy = copied(case.folder, tmp_path / "case")
    document = json.loads((copy / "case.json").read_bytes())
    stem = "270_findings"
    text = (copy / "queries" / f"{stem}.sql").read_bytes().replace(b"r.status,", b"'told' AS status,")
    (copy / "queries" / f"{stem}.sql").write_bytes(text)
    document["queries"][stem] = document["files"][f"queries/{stem}.sql"] = hashlib.sha256(text).hexdigest()
    (copy / "case.json").write_text(json.dumps(document))
    lines = [{**json.loads(line), "status": "told"} for line in (copy / "findings.jsonl").read_bytes().splitlines()]
    told = "".join(json.dumps(f, sort_keys=True, separators=(",", ":")) + "\n" for f in lines).encode()
    table = pq.read_table(copy / "findings.parquet")
    at = table.schema.get_field_index("status")
    pq.write_table(table.set_column(at, "status", pa.array(["told"] * table.num_rows)), copy / "findings.parquet")
    resealed(copy, findings_jsonl=told, findings_parquet=(copy / "findings.parquet").read_bytes())
    found = verify(copy)
    assert found.problems == ()
    assert any(stem in note for note in found.notes)


def test_a_packed_bundle_is_to_be_unpacked(tmp_path: Path) -> None:
    packed = tmp_path / "bundle.zip"
    packed.write_bytes(b"PK")
    with pytest.raises(UsageError, match=r"neither a case folder nor a bundle; unpack it first"):
        verify(packed)
