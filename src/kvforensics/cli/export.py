"""In which form is a case handed over? Reads the options, writes one export, says what was written."""

from __future__ import annotations

import datetime as dt
import os
import re
from pathlib import Path
from typing import Any

import click

from kvforensics.cli import emit, wrapped
from kvforensics.errors import UsageError

FORMS = ("bundle", "timesketch", "ocsf", "csv", "xlsx", "parquet", "public", "exposure")
_SUFFIX = {"timesketch": ".jsonl", "ocsf": ".jsonl", "csv": ".csv", "xlsx": ".xlsx"}
_PATH = click.Path(path_type=Path)


@click.command(name="export")
@click.argument("case_dir", metavar="CASE")
@click.argument("target", metavar="OUT", type=_PATH)
@click.option("--as", "form", type=click.Choice(FORMS), default="bundle", show_default=True, help="The form.")
@click.option("--no-evidence", is_flag=True, help="bundle: leave out raw bytes of records and rejected lines.")
@click.option("--whose", metavar="FILE", help="bundle, exposure: what `whose --json` wrote goes along, with its notices.")
@click.option("--sign-key", type=_PATH, metavar="FILE", help="bundle: sign with this SSH key (ssh-keygen -Y).")
@click.option("--date", metavar="YYYY-MM-DD", help="bundle: the bagging date; default from SOURCE_DATE_EPOCH, else none.")
@click.option("--organisation", metavar="NAME", help="bundle: who hands over.")
@click.option("--contact-name", metavar="NAME", help="bundle: whom to ask.")
@click.option("--contact-email", metavar="ADDRESS", help="bundle: where to ask.")
@click.option("--by", metavar="NAME", help="bundle: who made it; starts an entry in the chain of custody.")
@click.option("--to", metavar="NAME", help="bundle: who receives it.")
@click.option("--time", "at", metavar="TIME", help="bundle: when; ocsf: time of creation. With offset; never the clock's.")
@click.option("--assignee-group", default="not assigned", show_default=True, metavar="NAME", help="ocsf: who works on it.")
@click.option("--recipients", metavar="GROUP", help="public: add a table by tenant, under pseudonyms for this group.")
@click.option("--key", type=_PATH, metavar="FILE", help="public: the secret key of the pseudonyms.")
@click.option("--limit", type=click.IntRange(min=2), default=11, show_default=True, help="public: the least count to tell.")
@click.option("--marking", default="TLP:CLEAR", show_default=True, metavar="TLP", help="public: how it may be shared.")
def command(case_dir: str, target: Path, form: str, **given: Any) -> int:
    """Write a case in another form to OUT, which must not exist yet.

    bundle, parquet, public and exposure are folders, the others files. The same case and options give the same bytes.
    """
    from kvforensics.case_reader import open_case, read_as_told

    case = open_case(Path(case_dir))
    if target.resolve().is_relative_to(case.folder.resolve()):
        raise UsageError("lies inside the case", where=str(target), advice="name a place elsewhere")
    suffix = _SUFFIX.get(form)
    if suffix and target.suffix.lower() != suffix:
        raise UsageError(f"should end in {suffix}", where=str(target), advice="other tools go by the name")
    with read_as_told(case.folder.name):
        lines = _written(form, case, target, given)
    emit("\n".join(line for one in lines for line in wrapped(one)))
    return 0


def _written(form: str, case: Any, target: Path, given: dict[str, Any]) -> list[str]:
    """Write one form; what to tell about it."""
    from kvforensics.escape import terminal

    where = terminal(str(target))
    if form == "bundle":
        return _bundle(case, target, given)
    if form == "public":
        return _public(case, target, given)
    if form == "exposure":
        return _exposure(target, given["whose"])
    if form == "timesketch":
        from kvforensics.exports.timesketch import write_timesketch

        return [f"{where}: {write_timesketch(case, target)} rows; compare with what the importer counts"]
    if form == "ocsf":
        from kvforensics.exports.ocsf import OcsfOptions, write_ocsf

        options = OcsfOptions(_time_us(given["at"]), given["assignee_group"])
        return [f"{where}: {write_ocsf(case, target, options)} events"]
    if form == "csv":
        from kvforensics.exports.defused_csv import write_csv

        return [f"{where}: {write_csv(case, target)} findings"]
    if form == "xlsx":
        from kvforensics.exports.xlsx import write_xlsx

        return [f"{where}: {write_xlsx(case, target)} findings"]
    from kvforensics.exports.parquet import write_parquet

    return [f"{where}: {write_parquet(case, target)} findings"]


def _bundle(case: Any, target: Path, given: dict[str, Any]) -> list[str]:
    from kvforensics.custody import utc
    from kvforensics.escape import terminal
    from kvforensics.exports.bundle import BundleOptions, write_bundle
    from kvforensics.exposure_job import handed_over

    if given["by"] is None and (given["to"] or given["at"]):
        raise UsageError("--to and --time are said by somebody", advice="name them with --by")
    options = BundleOptions(
        evidence=not given["no_evidence"], key=given["sign_key"], date=_date(given["date"]),
        organisation=given["organisation"], contact_name=given["contact_name"], contact_email=given["contact_email"],
        by=given["by"], at=None if given["at"] is None else utc(given["at"]), to=given["to"],
        exposure={} if given["whose"] is None else handed_over(given["whose"]),
    )  # fmt: skip
    raw = case.document["options"]["evidence"]
    made = write_bundle(case, target, options)
    lines = [f"{terminal(str(target))}: a bundle; check it with `kvforensics verify`",
             f"SHA-256 of tagmanifest-sha512.txt, to tell by another way: {made.tag_manifest_sha256}"]  # fmt: skip
    if made.custody_head:
        lines.append(f"last digest of the chain of custody: {made.custody_head}")
    if made.left_out:
        lines.append(f"left out: {', '.join(made.left_out)}")
    elif raw:
        lines.append("it holds raw evidence, which may hold prompts and answers; --no-evidence leaves that out")
    return lines


def _exposure(target: Path, whose: str | None) -> list[str]:
    from kvforensics.escape import terminal
    from kvforensics.exposure_job import write_handed_over

    if whose is None:
        raise UsageError("needs what `whose --json` wrote", where="--as exposure", advice="name it with --whose FILE")
    return [f"{terminal(str(target))}: {write_handed_over(whose, target)} files"]


def _public(case: Any, target: Path, given: dict[str, Any]) -> list[str]:
    from kvforensics.escape import terminal
    from kvforensics.exports.public import MARKINGS, PublicOptions, write_public
    from kvforensics.pseudonym import Pseudonyms, load_key

    if (given["recipients"] is None) != (given["key"] is None):
        raise UsageError("--recipients and --key go together")
    if given["marking"] not in MARKINGS:
        raise UsageError(f"{given['marking']!r} is no marking", where="--marking", advice=f"one of {', '.join(MARKINGS)}")
    names = None if given["key"] is None else Pseudonyms(load_key(given["key"]), given["recipients"])
    options = PublicOptions(given["limit"], names, given["recipients"], given["marking"])
    tables = write_public(case, target, options)
    most = given["limit"] - 1
    hidden = "counts of 1" if most == 1 else f"counts from 1 to {most}"
    return [f"{terminal(str(target))}: {tables} files; {hidden} are hidden"]


def _date(text: str | None) -> str | None:
    if text is not None:
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            raise UsageError(f"{text!r} is no date", where="--date", advice="write it like 2026-09-10")
        return text
    epoch = _source_date_epoch()
    return None if epoch is None else dt.datetime.fromtimestamp(epoch, dt.UTC).date().isoformat()


def _time_us(text: str | None) -> int | None:
    if text is not None:
        from kvforensics.custody import utc

        moment = dt.datetime.fromisoformat(utc(text))
        return (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
    epoch = _source_date_epoch()
    return None if epoch is None else epoch * 1_000_000


def _source_date_epoch() -> int | None:
    """Seconds since 1970 by https://reproducible-builds.org/specs/source-date-epoch."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    return int(text) if re.fullmatch(r"\d{1,11}", text) else None
