"""How is a case handed over so that it can still be proved years later?

A BagIt bag with the case, where it comes from (PROV-JSON, in-toto), and the chain of custody; beside the tag files a
signature and a time-stamp request over the SHA-512 tag manifest. The same case and options give the same bytes, as far as
the signature's kind allows (Ed25519 does).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from kvforensics import __version__
from kvforensics.bag import NAME, SIGNED, BagWriter
from kvforensics.case_reader import StoredCase
from kvforensics.custody import FILE as CUSTODY
from kvforensics.custody import Handling, extended, head, read_chain, stored_chain
from kvforensics.errors import EvidenceError
from kvforensics.provenance import prov_json, statement
from kvforensics.signature import sign, time_stamp_request
from kvforensics.whole import whole_folder

BUNDLE_SCHEMA = "kvforensics.bundle/1"
CASE = "data/case"
"""Where the case lies in a bundle."""
SIGNATURE, REQUEST, REPLY = f"{SIGNED}.sig", f"{SIGNED}.tsq", f"{SIGNED}.tsr"
LATER = (CUSTODY, SIGNATURE, REQUEST, REPLY)
"""Files beside the tag files that no manifest lists, as they are over it or grow."""
REJECTED = "evidence/rejected.jsonl"
"""Rejected lines with excerpts, which are raw text; `rejected.jsonl` itself is without them in a bundle."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


class BundleOptions(Struct, frozen=True):
    """What the person who hands over says; None is *not said*.

    `evidence` is whether raw bytes of flagged records go along. `date` is YYYY-MM-DD. `by` starts an entry in the chain of
    custody, with the time `at` (RFC 3339 in UTC) and the receiver `to`.
    """

    evidence: bool = True
    key: Path | None = None
    date: str | None = None
    organisation: str | None = None
    contact_name: str | None = None
    contact_email: str | None = None
    by: str | None = None
    at: str | None = None
    to: str | None = None
    exposure: Mapping[str, bytes] = field(default_factory=dict)
    """Files about whose data was in whose reach, by their names under `data/exposure/`."""


class BundleMade(Struct, frozen=True):
    """The SHA-256 of the signed tag manifest, the last digest of the chain of custody, and what was left out."""

    tag_manifest_sha256: str
    custody_head: str | None
    left_out: tuple[str, ...]


def write_bundle(case: StoredCase, target: Path, options: BundleOptions) -> BundleMade:
    """Write the bundle. Raises `EvidenceError` where a file of the case is not what its digest says."""
    case_sha256 = _sha256(case.folder / "case.json")
    chain = stored_chain(case.folder)
    read_chain(chain)
    if options.by is not None:
        handling = Handling(
            actor=options.by, action="exported", item_sha256=case_sha256, time_utc=options.at, to=options.to,
            purpose="bundle made",
        )  # fmt: skip
        chain = extended(chain, handling)
    with whole_folder(target, "the bundle") as folder:
        bag = BagWriter(folder)
        left_out = _add_case(bag, case, options)
        for name, data in sorted(options.exposure.items()):
            bag.add(f"exposure/{name}", data)
        prefix = f"{CASE}/"
        results = {
            name.removeprefix(prefix): found["sha256"] for name, found in bag.digests().items() if name.startswith(prefix)
        }
        queries = dict(case.queries)
        about = {
            "schema": BUNDLE_SCHEMA, "tool": {"name": "kvforensics", "version": __version__}, "case_sha256": case_sha256,
            "left_out": left_out,
        }  # fmt: skip
        bag.add("bundle.json", _document(about))
        bag.add("provenance.json", _document(prov_json(case, results, queries)))
        bag.add("statement.json", _document(statement(case, results, queries)))
        bag.add(CUSTODY, chain)
        bag.close(_info(case, case_sha256, options), {"README.txt": _README.encode()})
        (folder / CUSTODY).write_bytes(chain)
        (folder / REQUEST).write_bytes(time_stamp_request(folder / SIGNED))
        if options.key is not None:
            (folder / SIGNATURE).write_bytes(sign(folder / SIGNED, options.key))
        signed = _sha256(folder / SIGNED)
    return BundleMade(signed, head(chain), tuple(left_out))


def _add_case(bag: BagWriter, case: StoredCase, options: BundleOptions) -> list[str]:
    """Copy the case; what of it was left out."""
    place = CASE.removeprefix("data/")
    bag.add_file(f"{place}/case.json", case.folder / "case.json")
    for name, digest in sorted(case.files.items()):
        if name == "rejected.jsonl":
            continue
        if not NAME.fullmatch(f"{place}/{name}"):
            raise EvidenceError("lists a file outside of the case", where="case.json", advice="run `kvforensics verify`")
        path = case.path(name)
        if bag.add_file(f"{place}/{name}", path) != digest:
            raise EvidenceError("differs from its digest in case.json", where=name, advice="run `kvforensics verify`")
    rejected = case.path("rejected.jsonl").read_bytes()
    if hashlib.sha256(rejected).hexdigest() != case.files["rejected.jsonl"]:
        raise EvidenceError("differs from its digest in case.json", where="rejected.jsonl", advice="run `kvforensics verify`")
    bag.add(f"{place}/rejected.jsonl", without_excerpts(rejected))
    evidence = case.folder / "evidence"
    if not options.evidence:
        return ["evidence", REJECTED]
    bag.add(f"{place}/{REJECTED}", rejected)
    for name in sorted(os.listdir(evidence)) if evidence.is_dir() else ():  # noqa: PTH208 - no object for each of so many
        if not _DIGEST.fullmatch(name) or bag.add_file(f"{place}/evidence/{name}", f"{evidence}/{name}") != name:
            raise EvidenceError("is not named by its SHA-256", where=f"evidence/{name}", advice="run `kvforensics verify`")
    return []


def without_excerpts(rejected: bytes) -> bytes:
    """The lines of `rejected.jsonl` without the text that could not be read, which may hold prompts."""
    return b"".join(
        json.dumps({**json.loads(line), "excerpt": None}, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        for line in rejected.splitlines()
    )


def _info(case: StoredCase, case_sha256: str, options: BundleOptions) -> list[tuple[str, str]]:
    told: Mapping[str, str | None] = {
        "Source-Organization": options.organisation,
        "Contact-Name": options.contact_name,
        "Contact-Email": options.contact_email,
        "External-Description": str(case.summary.get("title", "")),
        "Bagging-Date": options.date,
        "External-Identifier": str(case.document["incident"]["id"]),
        "Internal-Sender-Identifier": f"case.json sha256 {case_sha256}",
        "Bag-Software-Agent": f"kvforensics {__version__}",
    }
    return [(label, value) for label, value in told.items() if value]


def _document(value: dict[str, Any]) -> bytes:
    # Indenting by the other library, which is quick, changes no text: it has been written out in ASCII before.
    return msgspec.json.format(json.dumps(value, sort_keys=True, ensure_ascii=True).encode(), indent=2) + b"\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_README = f"""This folder is a BagIt 1.0 bag (RFC 8493) with one case of kvforensics.

  {CASE}/              the case: case.json says what was run; findings, records, rejected lines
  {CASE}/evidence/     raw bytes of flagged records and of rejected lines, unless they were left out.
                          They may hold prompts and answers: handle them as you handle the logs
  {CASE}/queries/, {CASE}/exclusions/   the questions and the rules, as they were run
  data/exposure/          whose data was in whose reach by engine logs, if that was given: the document, the matrix, and
                          a notice to each tenant whose text was in reach
  data/provenance.json    what was made from what (PROV-JSON)
  data/statement.json     the digests of the results and of what they came from (in-toto statement)
  data/custody.jsonl      the chain of custody when this was made; {CUSTODY} beside this file goes on

Check it

  with the tool           kvforensics verify .
  every digest, without   sha512sum -c tagmanifest-sha512.txt && sha512sum -c manifest-sha512.txt
  the signature           ssh-keygen -Y verify -f ALLOWED_SIGNERS -I WHO -n kvforensics-evidence@v1 \\
                            -s {SIGNATURE} < {SIGNED}
  the time stamp          send {REQUEST} to an RFC 3161 authority, keep its reply as
                            {REPLY}, then: openssl ts -verify -queryfile {REQUEST} \\
                            -in {REPLY} -CAfile AUTHORITY.pem

What that shows: the digests, that nothing was damaged; the signature, who vouches for it and that nothing changed since;
the time stamp, that it existed by then. None of them shows that the logs were complete.
"""
