"""Were requests exposed? Reads the options, runs the check, prints the answer."""

from __future__ import annotations

import json
import os
import platform
import re
import time
from typing import Any

import click

from kvforensics.cli import emit
from kvforensics.cli.loading import loading
from kvforensics.errors import UsageError
from kvforensics.workers import get_ready

DEFAULT_INCIDENT = "cloudflare-workers-ai-glm-5.3"
_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*$", re.IGNORECASE)
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@click.command(name="check")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--incident", default=DEFAULT_INCIDENT, show_default=True, metavar="ID|FILE", help="The incident to look for."
)
@click.option("--exclude", multiple=True, metavar="FILE", help="Exclusion rules (repeatable).")
@click.option("--timezone", multiple=True, metavar="[GLOB=]ZONE",
              help="Zone of times without an offset; over a documented one only with GLOB (repeatable).")  # fmt: skip
@click.option("--format", "formats", multiple=True, metavar="[GLOB=]NAME", help="Format of a log (repeatable).")
@click.option("--mapping", multiple=True, metavar="FILE", help="Where a home-made log keeps its fields (repeatable).")
@click.option("--private-key", "private_keys", multiple=True, metavar="FILE",
              help="RSA key that opens encrypted Logpush fields (repeatable).")  # fmt: skip
@click.option("--tenant-by", metavar="FIELD", help="The field that names the tenant.")
@click.option("--tenant-aliases", metavar="FILE", help="Which keys, users and accounts are one tenant (TOML or CSV).")
@click.option("--sample-rate", multiple=True, metavar="[GLOB=]RATE", help="Share of requests that a log kept (repeatable).")
@click.option("--sampled-by", type=click.Choice(["request", "tenant"]), default="request", show_default=True,
              help="What the sampler drew.")  # fmt: skip
@click.option("--two-sources", metavar="GLOB,GLOB", help="Two logs of the same traffic, to estimate what both missed.")
@click.option("--assume-independent", is_flag=True, help="You assert that these two missed calls independently.")
@click.option("--scale-gaps", is_flag=True, help="Also scale the counts over times without evidence, as a separate layer.")
@click.option("--case", "case_dir", metavar="DIR", help="Write the case to this folder.")
@click.option("--keep", type=click.Choice(["all", "on-model"]), default="on-model", show_default=True,
              help="Which records the case keeps.")  # fmt: skip
@click.option("--no-evidence", is_flag=True, help="Leave the raw bytes of flagged records out of the case.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.option("--assume-complete", is_flag=True, help="You assert that the logs are complete; the case records it.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; default one for each core.")
@click.option("--memory", metavar="SIZE", help="Memory bound for the queries, such as 4GB.")
@click.option("--progress/--no-progress", default=None, help="Progress on standard error; default on a terminal.")
def command(**given: Any) -> int:
    """Read logs, judge every request, print the verdict.

    PATH is a file, a folder, `-` for standard input, or s3://bucket/prefix.

    Exit status: 0 not exposed, 10 exposed, 11 possibly exposed, 12 undetermined, 13 evidence broken, 2 usage error.
    """
    if given["assume_independent"] and given["two_sources"] is None:
        raise UsageError("is about two logs", where="--assume-independent", advice="name them with --two-sources GLOB,GLOB")
    choices = {key: tuple(choice(text) for text in given[key]) for key in ("timezone", "formats")}
    memory = parse_size(given["memory"]) if given["memory"] else None

    with loading():
        get_ready(given["paths"], given["workers"] or 0)
        from kvforensics.case import Case, CheckOptions, RunFacts
        from kvforensics.cli.progress import shown
        from kvforensics.escape import terminal
        from kvforensics.reports.terminal import verdict_text
        from kvforensics.sampling import read_rate
        from kvforensics.sizing import SizingOptions

    options = CheckOptions(
        paths=given["paths"],
        incident=given["incident"],
        exclusions=given["exclude"],
        timezones=choices["timezone"],
        formats=choices["formats"],
        mappings=given["mapping"],
        private_keys=given["private_keys"],
        tenant_by=given["tenant_by"],
        assume_complete=given["assume_complete"],
        workers=given["workers"] or 0,
        memory_bytes=memory,
        keep_all=given["keep"] == "all",
        evidence=not given["no_evidence"],
        case_dir=given["case_dir"],
        tenant_aliases=given["tenant_aliases"],
        sizing=SizingOptions(
            rates=tuple(read_rate(text) for text in given["sample_rate"]),
            sampled_by=given["sampled_by"],
            two_sources=_pair(given["two_sources"]),
            assume_independent=given["assume_independent"],
            scale_gaps=given["scale_gaps"],
        ),
    )
    began = time.monotonic()
    with Case() as case, shown(wanted=given["progress"]) as progress:
        result = case.check(options, progress)
        if options.case_dir is not None:
            workers = options.workers or os.cpu_count() or 1
            case.write_case(options.case_dir, RunFacts(time.monotonic() - began, platform.node(), workers))
    for warning in result.summary["warnings"]:
        click.echo(f"kvforensics: warning: {terminal(warning['message'])} [{terminal(warning['code'])}]", err=True)
    if given["as_json"]:
        emit(json.dumps(result.summary, indent=2, ensure_ascii=True))
    else:
        evidence = not given["no_evidence"]
        emit(verdict_text(result.summary, result.top, case=given["case_dir"], evidence=evidence, incident=result.incident))
    return result.exit_status


def choice(text: str) -> tuple[str | None, str]:
    """`VALUE` or `GLOB=VALUE`."""
    glob, equals, value = text.rpartition("=")
    if equals and not (glob and value):
        raise UsageError(f"{text!r} is neither VALUE nor GLOB=VALUE")
    return (glob or None, value)


def _pair(text: str | None) -> tuple[str, str] | None:
    """`GLOB,GLOB`."""
    if text is None:
        return None
    first, comma, second = text.partition(",")
    if not (comma and first and second) or "," in second:
        raise UsageError(f"{text!r} is not GLOB,GLOB", where="--two-sources")
    return first, second


def parse_size(text: str) -> int:
    """Bytes of a size such as `4GB`, `512MiB` or `2g`; `i` means powers of 1,024."""
    found = _SIZE.match(text)
    size = int(float(found[1]) * (1024 if found[3] else 1000) ** _POWER[found[2].lower()]) if found else 0
    if size < 1 << 20:
        raise UsageError(
            f"{text!r} is not a size of at least 1 MB", where="--memory", advice="write it like 4GB or 512MiB"
        )
    return size
