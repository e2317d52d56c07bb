"""Which files does a report make of a case?

Joins the case's reader, what is told, and the media. Files are written under a temporary name and renamed when whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct

from kvforensics.case_reader import StoredCase, open_case, read_as_told
from kvforensics.engine.exposure_document import read_exposure
from kvforensics.errors import UsageError
from kvforensics.page import Page, Section
from kvforensics.page_files import MEDIA, fill, notice_name, write_chunks
from kvforensics.telling import listing, notice, wording
from kvforensics.telling.exposure import sections as exposure_sections
from kvforensics.telling.report_page import FINDINGS_SHOWN, report_page, worksheet_page
from kvforensics.telling.source_notice import source_sections
from kvforensics.whole import refuse_taken, whole_folder


class ReportOptions(Struct, frozen=True):
    """What was asked for. `as_of` is RFC 3339 or None; at most one of `tenant` and `worksheet` is set.

    `exposure` is the name of a file that `whose --json` wrote, or None.
    """

    case: str
    as_of: str | None = None
    tenant: str | None = None
    worksheet: bool = False
    exposure: str | None = None


def report_bytes(options: ReportOptions, medium: str) -> Iterator[bytes]:
    """One report, in pieces. It has no file beside it, so findings that do not fit are in the case alone."""
    with read_as_told(Path(options.case).name):
        case = open_case(Path(options.case))
        yield from _rendered(case, _page(case, options, None), medium, options)


def write_report(options: ReportOptions, path: str, medium: str) -> tuple[str, ...]:
    """Write one report, and beside it the list of findings where the page cannot show them all. The names written."""
    with read_as_told(Path(options.case).name):
        target = _target(path, options.case)
        case = open_case(Path(options.case))
        whole = options.tenant is None and not options.worksheet
        rest = f"{target.stem}-findings.csv" if whole and medium in {"html", "pdf"} and _too_many(case) else None
        page = _page(case, options, rest)
        names = [str(target)]
        write_chunks(target, _rendered(case, page, medium, options))
        if rest is not None:
            csv = import_module("kvforensics.reports.findings_csv")
            incident = case.incident()
            rows = (listing.row(finding, incident) for finding in listing.documents(case))
            write_chunks(target.with_name(rest), csv.chunks(listing.COLUMNS, rows))
            names.append(str(target.with_name(rest)))
        return tuple(names)


def write_notices(case_dir: str, folder: str, medium: str, exposure: str | None = None) -> int:
    """One notice for each tenant with a flagged request, or with text in the reach of others, in a folder. How many."""
    with read_as_told(Path(case_dir).name):
        target = _target(folder, case_dir)
        refuse_taken(target)
        case = open_case(Path(case_dir))
        reach = _sources(exposure)
        named = sorted({*notice.flagged_tenants(case), *reach})
        owners = notice.collect(case, frozenset(named))
        with whole_folder(target, "the folder of notices") as partial:
            for tenant, own in owners.items():
                options = ReportOptions(case_dir, tenant=tenant)
                page = notice.notice_page(case, own, reach.get(tenant, ()))
                fill(partial / f"{notice_name(tenant)}{MEDIA[medium]}", _rendered(case, page, medium, options))
        return len(named)


def _page(case: StoredCase, options: ReportOptions, rest: str | None) -> Page:
    if options.tenant is not None:
        reach = _sources(options.exposure)
        if options.tenant not in reach:
            notice.known_tenant(case, options.tenant)
        (own,) = notice.collect(case, frozenset({options.tenant})).values()
        return notice.notice_page(case, own, reach.get(options.tenant, ()))
    if options.worksheet:
        return worksheet_page(case, as_of=options.as_of)
    if options.exposure is None:
        return report_page(case, as_of=options.as_of, rest=rest)
    told = read_exposure(Path(options.exposure))
    known = listing.by_request(case, frozenset(r.rid for r in told.exposure.responses))
    return report_page(case, as_of=options.as_of, rest=rest, more=exposure_sections(told.exposure, told.sha256, known))


def _sources(path: str | None) -> dict[str, tuple[Section, ...]]:
    """What is to be told to each tenant whose text was in the reach of others."""
    if path is None:
        return {}
    exposure = read_exposure(Path(path)).exposure
    return {own.tenant: source_sections(exposure, own) for own in exposure.sources if own.tenant is not None}


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
    if options.exposure is not None:
        facts |= {"exposure": json.loads(read_exposure(Path(options.exposure)).data)}
    rows = (row for batch in case.findings() for row in batch.to_pylist())
    return facts, map(_finding, rows)


def _finding(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **row, "correlation": dict(row["correlation"] or ()),
        **{key: wording.instant(row[key]) for key in ("started_earliest", "started_latest")},
    }  # fmt: skip


def _notice_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, **{key: wording.instant(row[key]) for key in ("started_earliest", "started_latest")}}


def _target(path: str, case: str) -> Path:
    target = Path(path)
    if target.resolve().is_relative_to(Path(case).resolve()):
        raise UsageError("lies inside the case, which stays as it is", where=path, advice="name another place")
    return target
