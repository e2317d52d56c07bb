"""What does an analyst ask of a case?

The only place that joins the stages: `check` reads, judges and sums up, `write_case` keeps the result in a folder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct, field
from msgspec.structs import replace

from kvforensics import __version__, catalog, finding
from kvforensics.alias import Aliases, load_aliases
from kvforensics.appraisal import Question, appraise, verdict_of
from kvforensics.case_folder import case_folder, refuse_unusable
from kvforensics.clock import check_zone
from kvforensics.errors import KvForensicsError, UsageError
from kvforensics.exclusion import ExclusionSet, load_exclusions
from kvforensics.formats import all_formats
from kvforensics.gather import Ingested
from kvforensics.incident import DEFAULT_INCIDENT, Incident, load_incident
from kvforensics.ingest import IngestRequest, ingest
from kvforensics.judge import Judgement
from kvforensics.mapping import Mapping, load_mapping
from kvforensics.observed import told
from kvforensics.scanned import Keep
from kvforensics.sealed import PrivateKey, load_private_keys
from kvforensics.sizing import SizingOptions
from kvforensics.summary import summarise
from kvforensics.unmatched import stated, unmatched, without_tenant
from kvforensics.verdict import Verdict
from kvforensics.whole import room_in
from kvforensics.workers import all_alive

CASE_SCHEMA = "kvforensics.case/1"
RUN_SCHEMA = "kvforensics.run/1"
TOP = 10
Chosen = tuple[tuple[str | None, str], ...]
Progress = Callable[[int, int], None]


class CheckOptions(Struct, frozen=True):
    """What the analyst asked for. `memory_bytes` bounds the queries; `workers` 0 is one process for each core."""

    paths: tuple[str, ...]
    incident: str = DEFAULT_INCIDENT
    exclusions: tuple[str, ...] = ()
    timezones: Chosen = ()
    formats: Chosen = ()
    mappings: tuple[str, ...] = ()
    private_keys: tuple[str, ...] = ()
    tenant_by: str | None = None
    assume_complete: bool = False
    workers: int = 0
    memory_bytes: int | None = None
    keep_all: bool = False
    evidence: bool = True
    case_dir: str | None = None
    tenant_aliases: str | None = None
    sizing: SizingOptions = field(default_factory=SizingOptions)


class RunFacts(Struct, frozen=True):
    """What differs from run to run and so stays outside every digest. `duration_s` is in seconds."""

    duration_s: float
    host: str
    workers: int


class CheckResult(Struct, frozen=True):
    """The summary, all findings in total order, the first few as documents (most serious first), and the exit status."""

    summary: dict[str, Any]
    findings: pa.Table
    top: tuple[dict[str, Any], ...]
    exit_status: int
    context: pa.Table
    """Source and line of the records of other models that the judgement leaned on."""
    incident: Incident


class _Checked(Struct, frozen=True):
    options: CheckOptions
    incident: Incident
    exclusions: tuple[ExclusionSet, ...]
    mappings: tuple[Mapping, ...]
    aliases: Aliases | None
    keys: tuple[PrivateKey, ...]
    ingested: Ingested
    result: CheckResult


class Case(Struct):
    """One case. Use it as a context manager: it owns the folder in which the stages put what does not fit in memory."""

    _spool: tempfile.TemporaryDirectory[str] = field(
        default_factory=lambda: tempfile.TemporaryDirectory(prefix="kvforensics-", ignore_cleanup_errors=True)
    )
    _checked: _Checked | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._spool.cleanup()

    def check(self, options: CheckOptions, progress: Progress | None = None) -> CheckResult:
        """Read and judge the evidence. Raises `UsageError` before anything is read where an option is not usable."""
        scanned = tuple(Path(p) for p in options.paths if p != "-" and "://" not in p)
        if options.case_dir is not None:
            refuse_unusable(Path(options.case_dir), scanned)
        incident = load_incident(options.incident)
        exclusions = load_exclusions([Path(p) for p in options.exclusions], scanned)
        rules = tuple(rule for one in exclusions for rule in one.rules)
        mappings = _mappings(options.mappings)
        aliases = load_aliases(options.tenant_aliases) if options.tenant_aliases else None
        keys = load_private_keys(options.private_keys)
        for _, zone in options.timezones:
            check_zone(zone)
        spool = Path(self._spool.name)
        request = IngestRequest(
            paths=options.paths, incident=incident, timezones=options.timezones, formats=options.formats, mappings=mappings,
            tenant_by=options.tenant_by, workers=options.workers, memory_bytes=options.memory_bytes, spool=spool,
            keep=_keep(options), keys=keys,
        )  # fmt: skip
        question = Question(incident, rules, aliases, options.sizing, options.assume_complete, request.keep != "open")
        with room_in(spool), all_alive():
            ingested = ingest(request, progress)
            unused = unmatched(ingested.inputs, stated(options.timezones, options.formats, options.sizing), mappings)
            ingested = replace(ingested, warnings=(*ingested.warnings, *unused))
            appraisal = appraise(
                ingested, question, spool=spool, memory_bytes=options.memory_bytes, threads=options.workers or None
            )
        coverage, judgement = appraisal.coverage, appraisal.judgement
        unnamed = without_tenant(options.tenant_by, judgement.findings["tenant"])
        ingested = replace(ingested, warnings=(*ingested.warnings, *unnamed))
        verdict = verdict_of(ingested, judgement, coverage, assume_complete=options.assume_complete)
        summary = summarise(
            incident, rules, ingested, coverage, judgement, verdict, assume_complete=options.assume_complete,
            estimate=appraisal.estimate,
        )  # fmt: skip
        result = _result(summary, incident, judgement, ingested, verdict)
        self._checked = _Checked(options, incident, exclusions, mappings, aliases, keys, ingested, result)
        return result

    def write_case(self, directory: str, run: RunFacts) -> None:
        """Keep what was checked as a case folder, whole or not at all."""
        checked = self._checked
        if checked is None:
            raise KvForensicsError("nothing was checked yet", where=directory)
        findings, ingested = checked.result.findings, checked.ingested
        with case_folder(Path(directory)) as writer:
            writer.findings(finding.documents(findings, _locators(ingested)))
            kept, context = _kept(ingested, checked.result.context, keep_all=checked.options.keep_all)
            writer.records(_in_order(kept, ingested))
            writer.context(_in_order(context, ingested))
            writer.activity(ingested.activity)
            writer.sums(ingested.sums)
            writer.kept("exclusions", {k: v for e in checked.exclusions for k, v in e.contents.items()})
            writer.kept("queries", {f"{q.stem}.sql": q.data for q in catalog.all_queries()})
            writer.rejected(ingested.rejected())
            if checked.options.evidence:
                writer.evidence(ingested.raw(findings))
            writer.document("case.json", {**_case_document(checked), "files": dict(writer.digests)})
            writer.document(
                "run.json",
                {
                    "schema": RUN_SCHEMA,
                    "duration_s": round(run.duration_s, 3),
                    "host": run.host,
                    "workers": run.workers,
                },
            )


def _keep(options: CheckOptions) -> Keep:
    """Records whose answer is settled are kept where a case wants them or exclusion rules have to be tried on them."""
    if options.keep_all:
        return "all"
    return "on-model" if options.case_dir is not None or options.exclusions else "open"


def _mappings(paths: Sequence[str]) -> tuple[Mapping, ...]:
    taken = {f.name for f in all_formats()}
    found = []
    for path in paths:
        mapping = load_mapping(path)
        if mapping.format.name in taken:
            raise UsageError(f"the name {mapping.format.name!r} is taken", where=path, advice="give it another name")
        taken.add(mapping.format.name)
        found.append(mapping)
    return tuple(found)


def _result(
    summary: dict[str, Any], incident: Incident, judgement: Judgement, ingested: Ingested, verdict: Verdict
) -> CheckResult:
    findings = judgement.findings
    locators = _locators(ingested)
    top: list[dict[str, Any]] = []
    for disposition in finding.SERIOUS:
        rows = findings.filter(pc.equal(findings["disposition"], disposition)).slice(0, TOP - len(top))
        top += [finding.written(d) for d in finding.documents(rows, locators)]
    return CheckResult(summary, findings, tuple(top), verdict.exit_status, judgement.context, incident)


def _locators(ingested: Ingested) -> finding.Locators:
    return finding.Locators([(i.source, i.sha256) for i in ingested.inputs])


def _kept(ingested: Ingested, context: pa.Table, *, keep_all: bool) -> tuple[pa.Table, pa.Table]:
    """The records that a case keeps: those on the model or possibly so, or all of them; and those they were judged with."""
    records = ingested.records
    if keep_all:
        return records, records.slice(0, 0)
    on_model = pc.fill_null(records["model_match"], fill_value=True)
    others = records.filter(pc.invert(on_model))
    keys = ["source", "line"]
    # Acero joins no lists, so the rows are found by their keys alone.
    places = others.select(keys).append_column("at", pa.array(range(others.num_rows), type=pa.int64()))
    wanted = places.join(context.cast(places.select(keys).schema), keys=keys, join_type="left semi")
    return records.filter(on_model), others.take(wanted["at"])


def _in_order(table: pa.Table, ingested: Ingested) -> pa.Table:
    """The rows by source, in the order of the arguments, and line, however many workers read them."""
    names = pa.array([i.source for i in ingested.inputs], type=pa.string())
    places = pc.index_in(table["source"].cast(pa.string()), value_set=names)
    keyed = pa.table({"place": places, "line": table["line"]})
    return table.take(pc.sort_indices(keyed, sort_keys=[("place", "ascending"), ("line", "ascending")]))


def _case_document(checked: _Checked) -> dict[str, Any]:
    """What was run, without anything that differs from place to place."""
    options, incident, aliases = checked.options, checked.incident, checked.aliases
    sizing = options.sizing
    return {
        "schema": CASE_SCHEMA,
        "tool": {"name": "kvforensics", "version": __version__},
        "incident": {"id": incident.id, "sha256": incident.digest, "text": incident.text},
        "exclusions": [{"name": e.name, "sha256": e.digest, "lists": dict(e.lists)} for e in checked.exclusions],
        "mappings": [{"name": m.format.name, "sha256": m.digest} for m in checked.mappings],
        "private_keys": [{"public_key_sha256": key.fingerprint} for key in checked.keys],
        "options": {
            "timezone": [list(pair) for pair in options.timezones],
            "format": [list(pair) for pair in options.formats],
            "tenant_by": options.tenant_by,
            "tenant_aliases": None if aliases is None else {
                "name": aliases.name, "sha256": aliases.digest, "entries": [list(e) for e in aliases.entries],
            },
            "sample_rate": [[r.glob, r.rate] for r in sizing.rates],
            "sampled_by": sizing.sampled_by,
            "two_sources": None if sizing.two_sources is None else list(sizing.two_sources),
            "assume_independent": sizing.assume_independent,
            "scale_gaps": sizing.scale_gaps,
            "assume_complete": options.assume_complete,
            "keep": "all" if options.keep_all else "on-model",
            "evidence": options.evidence,
        },
        "inputs": checked.result.summary["inputs"],
        "reading": {"whole": _keep(options) != "open", "inputs": told(checked.ingested.seen)},
        "settled": checked.ingested.settled._asdict(),
        "summary": checked.result.summary,
        "queries": dict(catalog.digests()),
    }
