"""Which figures does a regulator's form ask for, and what can logs say about each?

One block a figure: value, bounds, method, whether it is actual or an estimate, and as of when. Logs show responses,
requests and tenants. They show no people, so data subjects stay blank for the controller, as do all decisions and times
that only the organisation knows. Field names: GDPR Article 33(3); DORA ITS (EU) 2025/302 Annex I; NIS2 Article 23(4);
SEC Form 8-K Item 1.05; VERIS 1.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from kvforensics.incident import Incident
from kvforensics.instant import rfc3339
from kvforensics.page import Cell, Column, Paragraph, Section, Table

Json = Mapping[str, Any]
BLANK = "to be filled in by the controller"
COLUMNS = (
    Column("figure", "Figure"),
    Column("value", "Value", BLANK),
    Column("lower", "Lower", "-"),
    Column("upper", "Upper", "-"),
    Column("kind", "Actual or estimate", "not applicable"),
    Column("method", "Method", wide=True),
    Column("as_of_utc", "As of (UTC)", "not known"),
    Column("gdpr", "GDPR 33(3)", "-"),
    Column("dora", "DORA", "-"),
    Column("nis2", "NIS2", "-"),
    Column("sec", "SEC 1.05", "-"),
    Column("veris", "VERIS", "-"),
)
_EXACT = "Every record of the logs was judged; lower counts what is proven, upper what cannot be ruled out"
_INCIDENT = "From the incident file"


class Figure(Struct, frozen=True):
    """One figure, with the name that each regime has for it. A value of None is for the controller to fill in."""

    name: str
    value: Cell
    lower: int | float | None
    upper: int | float | None
    bounded: bool
    kind: str | None
    method: str
    regimes: tuple[str | None, str | None, str | None, str | None, str | None]


def section(summary: Json, incident: Incident | None, as_of: str | None) -> Section:
    """The worksheet. `as_of` is the instant up to which the figures hold, as RFC 3339, or None where it is not known."""
    figures = (*_counts(summary), *_sampled(summary), *_times(incident), *_blank())
    return Section(
        "worksheet", "Regulator worksheet",
        (
            Paragraph((
                "Figures to copy into a notification, with the field that each regime has for them. They are drawn from "
                "the logs of this case alone. A tenant is not a person: the number of data subjects is for the "
                "controller to fill in. This is no legal advice.",
            )),
            Table("worksheet-figures", "Figures and the fields they belong to", COLUMNS,
                  tuple(_row(figure, as_of) for figure in figures)),
        ),
    )  # fmt: skip


def _row(figure: Figure, as_of: str | None) -> tuple[Cell, ...]:
    upper: Cell = "no bound" if figure.bounded and figure.upper is None else figure.upper
    return (figure.name, figure.value, figure.lower, upper, figure.kind, figure.method, as_of, *figure.regimes)


def _counts(summary: Json) -> tuple[Figure, ...]:
    responses, tenants, excluded = summary["responses"], summary["tenants"], summary["excluded"]
    unnamed = tenants.get("unknown_records", 0)
    without = "; excluded test and researcher traffic is not in it"
    return (
        Figure("Affected responses (records)", *_bounds(responses), _EXACT + without,
               ("(a) approximate number of records", "3.9-3.11 affected transactions", "(b) severity and impact",
                "scope", "attribute.confidentiality.data_total")),
        Figure("Affected tenants (clients)", *_bounds(tenants),
               _EXACT + (f"; {unnamed:,} flagged records name no tenant" if unnamed else ""),
               (None, "3.4 number of clients affected", "(b) severity and impact", "scope", "victim")),
        Figure("Replayed answers", summary["replays"], None, None, bounded=False, kind="actual",
               method="Answers that a response cache handed out again; they count in the upper bound of responses",
               regimes=("(a) nature", "3.9-3.11 affected transactions", None, "scope", None)),
        Figure("Excluded records", excluded["records"], None, None, bounded=False, kind="actual",
               method="Test, researcher and monitoring traffic, each by a rule with a reason and an approver",
               regimes=(None, None, None, None, None)),
        Figure("Incident confirmed by the logs", _confirmed(summary["verdict"]), None, None, bounded=False, kind="actual",
               method="The verdict of this case",
               regimes=("(a) nature", None, "(a) early warning", "nature", "security_incident")),
    )  # fmt: skip


def _sampled(summary: Json) -> tuple[Figure, ...]:
    sampling = (summary.get("estimate") or {}).get("sampling") or {}
    return tuple(
        Figure(name, number["value"], number["lower"], number["upper"], bounded=True, kind="estimate",
               method=f"{number['method']}; a documented sample of the requests was logged", regimes=regimes)
        for key, name, regimes in (
            ("responses", "Affected responses, behind the sample",
             ("(a) approximate number of records", "3.9-3.11 affected transactions", "(b) severity and impact", "scope",
              "attribute.confidentiality.data_total")),
            ("tenants", "Affected tenants, behind the sample",
             (None, "3.4 number of clients affected", "(b) severity and impact", "scope", "victim")),
        )
        if (number := sampling.get(key))
    )  # fmt: skip


def _bounds(counts: Json) -> tuple[Cell, int, int | None, bool, str]:
    exact = counts["lower"] == counts["upper"]
    return counts["affected"], counts["lower"], counts["upper"], True, "actual" if exact else "estimate"


def _confirmed(verdict: str) -> str:
    return {
        "exposed": "Confirmed", "possibly_exposed": "Suspected", "undetermined": "Suspected", "not_exposed": "Not confirmed",
    }.get(verdict, "Suspected")  # fmt: skip


def _times(incident: Incident | None) -> tuple[Figure, ...]:
    if incident is None:
        return ()
    span_s = (incident.uncertain_until_us - incident.start_us) // 1_000_000
    minutes = span_s // 60
    length = f"{minutes // 1440:02d}:{minutes // 60 % 24:02d}:{minutes % 60:02d}"
    start, end, until = (rfc3339(us) for us in (incident.start_us, incident.end_us, incident.uncertain_until_us))
    tail = "" if until == end else f"; the last machine was corrected at {until}"
    return (
        Figure("Start of the exposure", start, None, None, bounded=False, kind="actual", method=_INCIDENT,
               regimes=("(a) nature", "3.2 date and time of occurrence", "(b) initial assessment", "timing",
                        "timeline.incident")),
        Figure("End of the exposure", end, None, None, bounded=False, kind="actual", method=_INCIDENT + tail,
               regimes=("(a) nature", "3.3 date and time of recovery", "(b) initial assessment", "timing",
                        "timeline.containment")),
        Figure("Duration (DD:HH:MM)", length, None, None, bounded=False, kind="actual",
               method="From the start to the end of the uncertain time after it",
               regimes=(None, "3.15 duration", None, "timing", None)),
    )  # fmt: skip


def _blank() -> tuple[Figure, ...]:
    kept = "Logs do not show it"
    return tuple(
        Figure(name, None, None, None, bounded=False, kind=None, method=kept, regimes=regimes)
        for name, regimes in (
            ("Data subjects (people)", ("(a) categories and approximate number of data subjects", None, None, None, None)),
            ("Categories of data", ("(a) categories of records", None, None, "nature",
             "attribute.confidentiality.data[].variety")),
            ("Share of all clients", (None, "3.5 share of clients affected", None, None, None)),
            ("When the organisation became aware", ("72 hours run from here", "2.2 date and time of detection",
             "24 hours and 72 hours run from here", None, "timeline.discovery")),
            ("When it was classified", (None, "2.3 date and time of classification", None,
             "four business days run from the materiality determination", None)),
            ("Contact (data protection officer)", ("(b) contact point", None, None, None, None)),
            ("Likely consequences", ("(c) likely consequences", None, "(b) impact", "impact", "impact")),
            ("Measures taken", ("(d) measures", None, "(d) mitigation measures", None, None)),
        )
    )  # fmt: skip
