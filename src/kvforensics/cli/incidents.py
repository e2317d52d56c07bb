"""Which incidents are known, and is a new incident file valid?"""

from __future__ import annotations

from pathlib import Path

import click

from kvforensics.cli import emit
from kvforensics.errors import UsageError
from kvforensics.incident import Incident, load_incident, shipped_incidents, template
from kvforensics.instant import rfc3339


@click.group(name="incidents", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List the incident files that come with the program."""
    if context.invoked_subcommand is None:
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
def new(file: str | None) -> None:
    """Write a commented incident file to start from to FILE, or to standard output."""
    if file is None:
        emit(template())
        return
    try:
        with Path(file).open("x", encoding="utf-8") as out:
            out.write(template())
    except FileExistsError as error:
        raise UsageError("exists already", where=file, advice="name another file") from error
    except OSError as error:
        raise UsageError(f"cannot be written ({error.strerror})", where=file) from error
    emit(f"written: edit it, then run `kvforensics incidents validate {file}`")


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
        *(("timeline", f"{rfc3339(at)}  {what}") for at, what in incident.timeline),
        ("sha256", incident.digest),
    ]  # fmt: skip
    return "\n".join((incident.id, "", *(f"{label:<11}{terminal(text)}" for label, text in rows if text)))
