"""Which incidents are known, and is a new incident file valid?"""

from __future__ import annotations

from pathlib import Path

import click

from kvforensics.cli import emit, wrapped
from kvforensics.cli.check import choice
from kvforensics.errors import UsageError
from kvforensics.incident import (
    DEFAULT_INCIDENT,
    Incident,
    NodeThreshold,
    load_incident,
    parse_incident,
    shipped_incidents,
    template,
)
from kvforensics.instant import rfc3339

SHOWN = 5
"""Names that a hint lists."""


@click.group(name="incidents", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List the incident files that come with the program."""
    if context.invoked_subcommand is None:
        _list()


@command.command(name="list")
def list_() -> None:
    """List the incident files that come with the program."""
    _list()


def _list() -> None:
    shipped = [load_incident(name) for name in shipped_incidents()]
    width = max((len(i.id) for i in shipped), default=0)
    emit("\n".join(f"{i.id:<{width}}  {i.title}" for i in shipped))


@command.command()
@click.argument("incident", metavar="ID|FILE")
def show(incident: str) -> None:
    """Say what an incident asks of every request."""
    emit(describe(load_incident(incident)))


@command.command()
@click.argument("file", metavar="FILE")
def validate(file: str) -> None:
    """Say whether an incident file is valid."""
    found = load_incident(file)
    emit(f"valid: {found.id}, sha256 {found.digest}")


@command.command()
@click.argument("file", metavar="FILE", required=False)
@click.option("--from-audit", "logs", multiple=True, metavar="LOG",
              help="Take the thresholds of each node from engine logs (repeatable).")  # fmt: skip
@click.option("--base", default=DEFAULT_INCIDENT, show_default=True, metavar="ID|FILE",
              help="With --from-audit: the incident that gives the rest.")  # fmt: skip
@click.option("--timezone", multiple=True, metavar="[GLOB=]ZONE", help="Zone of the engines' local times (repeatable).")
def new(file: str | None, logs: tuple[str, ...], base: str, timezone: tuple[str, ...]) -> None:
    """Write an incident file to FILE, or to standard output: a commented one to start from, or one from engine logs."""
    text = _from_audit(logs, base, timezone) if logs else template()
    if file is None or file == "-":
        emit(text)
        return
    try:
        with Path(file).open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError as error:
        raise UsageError("exists already", where=file, advice="name another file") from error
    except OSError as error:
        raise UsageError(f"cannot be written ({error.strerror})", where=file) from error
    emit(f"written: edit it, then run `kvforensics incidents validate {file}`")
    if logs:
        emit(f"Its id and title are its own ({parse_incident(text.encode(), file).id}); change them as you like.")


def _from_audit(logs: tuple[str, ...], base: str, timezone: tuple[str, ...]) -> str:
    from kvforensics.clock import check_zone
    from kvforensics.engine.audit import AuditOptions, audit
    from kvforensics.engine.timeline import incident_text, restarts_in_doubt
    from kvforensics.escape import terminal
    from kvforensics.workers import count

    zones = tuple(choice(text) for text in timezone)
    for _, zone in zones:
        check_zone(zone)
    nodes = audit(AuditOptions(logs, zones=zones, workers=count(0))).nodes
    text = incident_text(nodes, load_incident(base))
    if names := restarts_in_doubt(nodes):
        shown = ", ".join(terminal(name) for name in names[:SHOWN]) + (" ..." if len(names) > SHOWN else "")
        click.echo(
            f"kvforensics: when {shown} started again is open for hours: local times without an offset. "
            "Add --timezone ZONE, or --timezone NODE=ZONE.", err=True,
        )  # fmt: skip
    return text


def describe(incident: Incident) -> str:
    """An incident in plain words."""
    from kvforensics.escape import terminal

    over, uncertain = incident.prompt_tokens_over, incident.uncertain_from
    rows = [
        ("title", incident.title),
        ("window", f"{rfc3339(incident.start_us)} up to, not including, {rfc3339(incident.end_us)}"),
        ("uncertain", f"until {rfc3339(incident.uncertain_until_us)}" if incident.uncertain_until_us > incident.end_us else ""),
        ("threshold", f"more than {over:,} prompt tokens; {uncertain:,} to {over:,} is uncertain" if uncertain <= over
         else f"more than {over:,} prompt tokens"),
        ("model", ", ".join(incident.model_ids)),
        ("names", ", ".join(incident.model_names)),
        ("providers", ", ".join(incident.providers)),
        ("hosts", ", ".join(incident.hosts)),
        ("published", f"{incident.published_affected_responses:,} affected responses"
         if incident.published_affected_responses is not None else ""),
        *(("source", url) for url in incident.sources),
        *(("node", _node(n)) for n in incident.nodes),
        *(("timeline", f"{rfc3339(at)}  {what}") for at, what in incident.timeline),
        ("sha256", incident.digest),
    ]  # fmt: skip
    lines = (wrapped(terminal(text), f"{label:<11}", " " * 11) for label, text in rows if text)
    return "\n".join((incident.id, "", *(line for one in lines for line in one)))


def _node(node: NodeThreshold) -> str:
    since, until = (None if at is None else rfc3339(at) for at in (node.since_us, node.until_us))
    when = " ".join([*([f"from {since}"] if since else []), *([f"until {until}"] if until else [])]) or "always"
    return f"{', '.join(node.names)}: more than {node.prompt_tokens_over:,}, uncertain from {node.uncertain_from:,}, {when}"
