"""Is a case or a bundle still what was made, and do its findings follow from its records?

Goes from the outside in: the bag, its signature and time stamp, the chain of custody, the digests of the case, its ledger,
and last the judgement itself, which is made again. It stops at the first stage that fails, as what lies further in cannot
be trusted then.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, zip_longest
from pathlib import Path

from msgspec import Struct

from kvforensics import finding
from kvforensics.bag import SIGNED, Problem, check_bag
from kvforensics.case_reader import STUMBLES, StoredCase, open_case
from kvforensics.custody import FILE as CUSTODY
from kvforensics.custody import read_chain, stored_chain
from kvforensics.errors import KvForensicsError, UsageError
from kvforensics.exports.bundle import (
    BUNDLE_SCHEMA,
    CASE,
    LATER,
    REJECTED,
    REPLY,
    REQUEST,
    SIGNATURE,
    without_excerpts,
)  # fmt: skip
from kvforensics.finding_rows import finding_rows
from kvforensics.rejudge import json_line, rejudge
from kvforensics.signature import check_signature, check_time_stamp, time_stamp_request

MOST = 20
_LEDGER = ("lines", "records", "rejected", "blank", "framing")


class Trust(Struct, frozen=True):
    """What a signature and a time stamp are checked against; all optional."""

    signers: Path | None = None
    identity: str | None = None
    authorities: Path | None = None


class Verification(Struct, frozen=True):
    """What differs, in the order of the stages, what was checked, and what a reader should know about it."""

    problems: tuple[Problem, ...]
    checked: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def exit_status(self) -> int:
        """0 where nothing differs, else 13."""
        return 13 if self.problems else 0


def verify(path: Path, trust: Trust | None = None) -> Verification:
    """Verify a case folder or a bundle. Raises `UsageError` where it is neither."""
    if not path.is_dir():
        advice = "unpack it first" if path.is_file() else None
        raise UsageError("is neither a case folder nor a bundle", where=str(path), advice=advice)
    notes: list[str] = []
    checked: list[str] = []
    digests = _Digests()
    is_bag = any((path / name).exists() for name in ("bagit.txt", SIGNED, "data"))
    case_folder = path / CASE if is_bag else path
    left_out: list[str] = []
    stages: list[tuple[str, Callable[[], Iterable[Problem]]]] = []
    if is_bag:
        stages += [
            ("the bag: every file is listed and has its digests", lambda: _bag(path, digests)),
            (_sealed_by(path), lambda: _seals(path, trust or Trust(), notes)),
            ("what the bundle says about itself", lambda: _about(path, left_out, notes, digests)),
        ]
    elif not (path / "case.json").exists():
        raise UsageError("is neither a case folder nor a bundle", where=str(path))
    elif trust is not None and trust != Trust():
        raise UsageError(
            "is a case folder, and only bundles are signed and time-stamped", where=str(path),
            advice="leave out --signers, --identity and --tsa-ca, or verify the bundle",
        )  # fmt: skip
    stages += [
        ("the chain of custody", lambda: _custody(path)),
        ("the digests of the case", lambda: _digests(open_case(case_folder), left_out, digests)),
        ("findings and evidence fit together", lambda: _fit(_held_already(case_folder), left_out, digests)),
        ("the ledger adds up", lambda: _ledger(_held_already(case_folder))),
        ("the findings follow from the records", lambda: _judgement(_held_already(case_folder), notes, checked)),
    ]
    for name, stage in stages:
        problems = _held(stage)
        if problems:
            return Verification(problems, tuple(checked), tuple(notes))
        checked.append(name)
    return Verification((), tuple(checked), tuple(notes))


class _Digests:
    """SHA-256 of files by path, each read once: a bundle can hold a hundred thousand, which several stages ask for."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, path: str) -> str:
        if path not in self._known:
            with Path(path).open("rb") as file:
                self._known[path] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._known[path]

    def add(self, folder: Path, names: Mapping[str, str]) -> None:
        self._known |= {f"{folder}/{name}": digest for name, digest in names.items()}


def _bag(folder: Path, digests: _Digests) -> Iterator[Problem]:
    found: dict[str, str] = {}
    yield from check_bag(folder, LATER, found)
    digests.add(folder, found)


def _held(stage: Callable[[], Iterable[Problem]]) -> tuple[Problem, ...]:
    """The problems of a stage. Whatever a stranger's file makes a stage stumble over is a problem too."""
    try:
        return tuple(islice(stage(), MOST))
    except UsageError:
        raise
    except KvForensicsError as error:
        return (Problem(error.where or "the case", error.what),)
    except OSError as error:
        return (Problem(Path(str(error.filename or "")).name, error.strerror or type(error).__name__),)
    except STUMBLES as error:
        return (Problem("case.json", f"is not built as a case is ({type(error).__name__})"),)


def _sealed_by(folder: Path) -> str:
    """What vouches for a bundle, as far as it is there."""
    named = {SIGNATURE: "the signature", REPLY: "the time stamp"}
    return " and ".join(text for name, text in named.items() if (folder / name).exists()) or "the time-stamp request"


def _seals(folder: Path, trust: Trust, notes: list[str]) -> Iterator[Problem]:
    signed, signature = folder / SIGNED, folder / SIGNATURE
    if signature.exists():
        wrong, shown = check_signature(signed, signature, trust.signers, trust.identity)
        if wrong:
            yield Problem(SIGNATURE, wrong)
        notes.append(shown) if shown else None
    elif trust.signers is not None:
        yield Problem(SIGNATURE, "is missing, but signers were named")
    else:
        notes.append("the bundle is not signed: digests show damage, not who vouches for it")
    request, reply = folder / REQUEST, folder / REPLY
    if request.exists() and request.read_bytes() != time_stamp_request(signed):
        yield Problem(REQUEST, f"is no request for {SIGNED}")
    if reply.exists():
        wrong, shown = check_time_stamp(request, reply, trust.authorities)
        if wrong:
            yield Problem(REPLY, wrong)
        notes.append(shown) if shown else None
    elif trust.authorities is not None:
        yield Problem(REPLY, "is missing, but an authority was named")


def _about(folder: Path, left_out: list[str], notes: list[str], digests: _Digests) -> Iterator[Problem]:
    about = json.loads((folder / "data/bundle.json").read_bytes())
    if about["schema"] != BUNDLE_SCHEMA:
        raise UsageError(f"has the schema {about['schema']!r}, which this version does not know", where="data/bundle.json",
                         advice="update kvforensics")  # fmt: skip
    left_out += about["left_out"]
    if left_out:
        notes.append(f"left out of the bundle, so not checked: {', '.join(left_out)}")
    statement = json.loads((folder / "data/statement.json").read_bytes())
    for subject in statement["subject"]:
        name = subject["name"]
        path = f"{folder}/{CASE}/{name}"
        if not Path(path).is_file() or digests.of(path) != subject["digest"]["sha256"]:
            yield Problem("data/statement.json", f"states another digest of {name}")
    if about["case_sha256"] != digests.of(f"{folder}/{CASE}/case.json"):
        yield Problem("data/bundle.json", "is about another case.json")


def _custody(folder: Path) -> Iterator[Problem]:
    chain = stored_chain(folder)
    read_chain(chain)
    handed_over = folder / "data" / CUSTODY
    if handed_over.exists() and not chain.startswith(handed_over.read_bytes()):
        yield Problem(CUSTODY, "does not continue the chain as it was when the bundle was made")


def _digests(case: StoredCase, left_out: list[str], digests: _Digests) -> Iterator[Problem]:
    moved = case.folder / REJECTED
    for name, digest in sorted(case.files.items()):
        path = moved if name == "rejected.jsonl" and (moved.exists() or REJECTED in left_out) else case.folder / name
        if name.startswith("/") or ".." in name.split("/") or path.is_symlink():
            yield Problem("case.json", "lists a file outside of the case")
        elif path == moved and REJECTED in left_out:
            continue
        elif not path.is_file():
            yield Problem(name, "is missing")
        elif digests.of(str(path)) != digest:
            yield Problem(name, "differs from its digest in case.json")
    if moved.exists() and without_excerpts(moved.read_bytes()) != (case.folder / "rejected.jsonl").read_bytes():
        yield Problem("rejected.jsonl", f"is not {REJECTED} without its excerpts")
    told = case.document["incident"]
    if "text" in told and hashlib.sha256(told["text"].encode()).hexdigest() != told["sha256"]:
        yield Problem("case.json", "holds another incident file than its digest says")


def _held_already(folder: Path) -> StoredCase:
    """The case for the stages after its digests were checked, which need not be checked again."""
    case = open_case(folder)
    return StoredCase(case.folder, case.document, set(case.files))


def _fit(case: StoredCase, left_out: list[str], digests: _Digests) -> Iterator[Problem]:
    folder = case.folder / "evidence"
    kept = case.document["options"]["evidence"] and "evidence" not in left_out
    present = set(os.listdir(folder)) - {Path(REJECTED).name} if folder.is_dir() else set()  # noqa: PTH208 - names only
    yield from (
        Problem(f"evidence/{n}", "is not named by its SHA-256") for n in sorted(present) if digests.of(f"{folder}/{n}") != n
    )
    rows = finding_rows(case)
    wanted: set[str] = set()
    with (case.folder / "findings.jsonl").open("rb") as lines:
        for number, (line, row) in enumerate(zip_longest(lines, rows), 1):
            if line is None or row is None or line != json_line(finding.written(row)):
                yield Problem(f"findings.parquet:{number}", "is not what findings.jsonl says")
                return
            if row["sha256"] is not None:
                wanted.add(row["sha256"])
    if kept:
        yield from (Problem(f"evidence/{name}", "is missing") for name in sorted(wanted - present))
        yield from (Problem(f"evidence/{name}", "belongs to no finding") for name in sorted(present - wanted))


def _ledger(case: StoredCase) -> Iterator[Problem]:
    summary = case.summary
    for told in case.document["inputs"]:
        if told["lines"] != sum(told[key] for key in _LEDGER[1:]):
            yield Problem("case.json", f"the ledger of {told['source']} does not add up")
    total = summary["ledger"]
    for key in _LEDGER:
        if total[key] != sum(told[key] for told in case.document["inputs"]):
            yield Problem("case.json", f"the ledger's {key} are not those of its inputs")
    if summary["inputs"] != case.document["inputs"]:
        yield Problem("case.json", "says two things about its inputs")
    rejected = Counter(row["source"] for row in case.rejected())
    for told in case.document["inputs"]:
        if rejected[told["source"]] != told["rejected"]:
            yield Problem("rejected.jsonl", f"does not list the {told['rejected']} rejected lines of {told['source']}")
    if set(rejected) - {told["source"] for told in case.document["inputs"]}:
        yield Problem("rejected.jsonl", "lists lines of a source that was not read")


def _judgement(case: StoredCase, notes: list[str], checked: list[str]) -> Iterator[Problem]:
    with tempfile.TemporaryDirectory(prefix="kvforensics-", ignore_cleanup_errors=True) as spool:
        again = rejudge(case, Path(spool))
    if again.other_queries:
        which = ", ".join(again.other_queries)
        notes.append(f"this version asks otherwise than the case ({which}); the answers were compared all the same")
    if again.not_sized:
        notes.append(again.not_sized)
    yield from again.problems
    if not again.problems and not again.not_sized:
        checked.append("coverage, verdict and estimate follow from what the case keeps")
