"""Which files does a report make of a case?

Joins the case's reader, what is told, and the media. Files are written under a temporary name and renamed when whole.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from kvforensics.case_reader import StoredCase, open_case
from kvforensics.errors import EvidenceError, KvForensicsError, UsageError
from kvforensics.page import Page
from kvforensics.telling import listing, notice, wording
from kvforensics.telling.report_page import FINDINGS_SHOWN, report_page, worksheet_page

MEDIA = {"html": ".html", "markdown": ".md", "json": ".json", "pdf": ".pdf"}
_SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown", ".json": "json", ".pdf": "pdf"}
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What was asked for. `as_of` is RFC 3339 or None; at most one of `tenant` and `worksheet` is set."""

    case: str
    as_of: str | None = None
    tenant: str | None = None
    worksheet: bool = False


def medium_of(path: str) -> str:
    """The medium that a file's name asks for. Raises `UsageError` where it is none."""
    medium = _SUFFIXES.get(Path(path).suffix.lower())
    if medium is None:
        raise UsageError("does not end in .html, .md, .json or .pdf", where=path, advice="or give --format")
    return medium


def report_bytes(options: ReportOptions, medium: str) -> Iterator[bytes]:
    """One report, in pieces. It has no file beside it, so findings that do not fit are in the case alone."""
    with _broken_case(options.case):
        case = open_case(Path(options.case))
        yield from _rendered(case, _page(case, options, None), medium, options)


def write_report(options: ReportOptions, path: str, medium: str) -> tuple[str, ...]:
    """Write one report, and beside it the list of findings where the page cannot show them all. The names written."""
    with _broken_case(options.case):
        target = _target(path, options.case)
        case = open_case(Path(options.case))
        whole = options.tenant is None and not options.worksheet
        rest = f"{target.stem}-findings.csv" if whole and medium in {"html", "pdf"} and _too_many(case) else None
        page = _page(case, options, rest)
        names = [str(target)]
        _write(target, _rendered(case, page, medium, options))
        if rest is not None:
            csv = import_module("kvforensics.reports.findings_csv")
            _write(target.with_name(rest), csv.chunks(listing.COLUMNS, map(listing.row, listing.documents(case))))
            names.append(str(target.with_name(rest)))
        return tuple(names)


def write_notices(case_dir: str, folder: str, medium: str) -> int:
    """One notice for each tenant with a flagged request, in a folder. How many."""
    with _broken_case(case_dir):
        target = _target(folder, case_dir)
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise UsageError("exists and is not empty", where=folder, advice="name another folder for the notices")
        case = open_case(Path(case_dir))
        owners = notice.collect(case, frozenset(notice.flagged_tenants(case)))
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise KvForensicsError(f"cannot be made: {error.strerror}", where=folder) from error
        for tenant, own in owners.items():
            options = ReportOptions(case_dir, tenant=tenant)
            name = f"{notice_name(tenant)}{MEDIA[medium]}"
            _write(target / name, _rendered(case, notice.notice_page(case, own), medium, options))
        return len(owners)


def notice_name(tenant: str) -> str:
    """A file name for a tenant's notice: what is safe of its name, and a digest that tells like names apart."""
    digest = hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    safe = _UNSAFE.sub("-", tenant)[:40].strip("-.")
    return f"notice-{safe}-{digest}" if safe else f"notice-{digest}"


def _page(case: StoredCase, options: ReportOptions, rest: str | None) -> Page:
    if options.tenant is not None:
        notice.known_tenant(case, options.tenant)
        (own,) = notice.collect(case, frozenset({options.tenant})).values()
        return notice.notice_page(case, own)
    if options.worksheet:
        return worksheet_page(case, as_of=options.as_of)
    return report_page(case, as_of=options.as_of, rest=rest)


def _too_many(case: StoredCase) -> bool:
    return case.count("findings") > FINDINGS_SHOWN


def _rendered(case: StoredCase, page: Page, medium: str, options: ReportOptions) -> Iterable[bytes]:
    module = import_module(f"kvforensics.reports.{medium}")
    if medium != "json":
        rendered: bytes = module.render(page)
        return (rendered,)
    facts, findings = _facts(case, options)
    chunks: Iterable[bytes] = module.chunks(page, facts, findings)
    return chunks


def _facts(case: StoredCase, options: ReportOptions) -> tuple[Mapping[str, Any], Iterable[Mapping[str, Any]]]:
    if options.tenant is not None:
        own = notice.own_findings(case, frozenset({options.tenant}))
        return {}, map(_notice_row, own)
    facts = {"summary": case.summary, "incident": case.document["incident"], "tool": case.document["tool"]}
    if options.worksheet:
        return facts, ()
    facts |= {"queries": case.queries, "files": case.files}
    rows = (row for batch in case.findings() for row in batch.to_pylist())
    return facts, map(_finding, rows)


def _finding(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **row, "correlation": dict(row["correlation"] or ()),
        **{key: wording.instant(row[key]) for key in ("started_earliest", "started_latest")},
    }  # fmt: skip


def _notice_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, **{key: wording.instant(row[key]) for key in ("started_earliest", "started_latest")}}


class _broken_case:  # noqa: N801 - reads as the statement that it is
    """Says of a case whose parts are not what they should be that it is broken, rather than showing a Python error."""

    def __init__(self, case: str) -> None:
        self._case = case

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        if isinstance(error, KeyError | TypeError | AttributeError):
            what = f"the case is not whole: {type(error).__name__} {error}"
            raise EvidenceError(what, where=Path(self._case).name) from error


def _target(path: str, case: str) -> Path:
    target = Path(path)
    if target.resolve().is_relative_to(Path(case).resolve()):
        raise UsageError("lies inside the case, which stays as it is", where=path, advice="name another place")
    return target


def _write(target: Path, chunks: Iterable[bytes]) -> None:
    partial: str | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".partial", dir=target.parent)
        with os.fdopen(handle, "wb") as out:
            for chunk in chunks:
                out.write(chunk)
        umask = os.umask(0)
        os.umask(umask)
        Path(partial).chmod(0o666 & ~umask)
        Path(partial).replace(target)
        partial = None
    except OSError as error:
        raise KvForensicsError(f"was not written: {error.strerror}", where=str(target), advice="name another place") from error
    finally:
        if partial is not None:
            Path(partial).unlink(missing_ok=True)


