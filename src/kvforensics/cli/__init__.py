"""Which command was asked for, and how does the process end?

Commands are imported when they are asked for, so that `--version` and `--help` answer at once.
"""

from __future__ import annotations

import os
import signal
import sys
import textwrap
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from kvforensics import __version__
from kvforensics.errors import KvForensicsError

COMMANDS = {
    "check": "Read logs, judge every request, print the verdict.",
    "size": "How many responses and tenants, and how sure, from a case.",
    "report": "Tell a case to people: HTML, Markdown, JSON, PDF, notices.",
    "export": "Hand a case over: evidence bundle, timeline, SIEM events, tables, public counts.",
    "verify": "Check a case or bundle again: digests, signature, and that the findings follow.",
    "custody": "Who had a case or bundle, when; add to it.",
    "diff": "What changed between two cases.",
    "sql": "Ask a case anything, with one SELECT.",
    "detect": "Say which formats logs may be, with the counts behind each guess.",
    "formats": "The log formats it reads, and what each can and cannot show.",
    "incidents": "Incident files: list, show, validate, new.",
    "audit": "Check start-up logs and configuration of engines.",
    "signatures": "Signs of the bug in engine logs, and what each proves.",
    "whose": "Replay engine logs: whose data was in the reach of whom.",
    "content": "Scores for text of other tenants in affected answers.",
}
WIDTH = 80
INTERRUPTED = 130
TERMINATED = 143
_stopped: list[int] = []
"""The exit statuses of the signals that came."""


class Program(click.Group):
    """The command group: imports a command when it is asked for, and turns errors into one line and an exit status."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Every command, in the order of the manual."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"kvforensics.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list of commands, without importing one."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(  # type: ignore[override]  # it always exits, whatever is asked of it
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run and exit. Every way out has a status of its own; a traceback only with KVFORENSICS_DEBUG=1."""
        extra["standalone_mode"] = False
        _listen()
        try:
            status = super().main(args=args, prog_name=prog_name or "kvforensics", **extra)
        except click.ClickException as error:
            error.show()
            sys.exit(error.exit_code)
        except (click.Abort, KeyboardInterrupt):
            _complain("interrupted")
            sys.exit(INTERRUPTED)
        except Exception as error:  # noqa: BLE001 - the last resort; the details are one variable away
            sys.exit(_failed(error))
        sys.exit(status if isinstance(status, int) else 0)


def wrapped(text: str, first: str = "", rest: str = "  ") -> list[str]:
    """One thing to say as lines of a terminal; what has no space in it (a name, a digest) stays whole."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def emit(text: str) -> None:
    """Write the answer. A reader that went away (`| head`) or was never there changes nothing about the verdict."""
    if sys.stdout is None:  # closed before the start (`>&-`)
        return
    try:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="backslashreplace")
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str) -> None:
    from kvforensics.escape import terminal

    click.echo(f"kvforensics: {terminal(message)}", err=True)


def _failed(error: Exception) -> int:
    """Say what went wrong; the exit status. A database that a signal stops raises an error of its own."""
    if _stopped:
        _complain("interrupted" if _stopped[0] == INTERRUPTED else "terminated")
        return _stopped[0]
    if isinstance(error, KvForensicsError):
        _complain(str(error))
        return error.exit_status
    _unexpected(error)
    return 1


def _unexpected(error: Exception) -> None:
    if os.environ.get("KVFORENSICS_DEBUG") == "1":
        traceback.print_exception(error)
    text = " ".join(str(error).split())[:300]
    _complain(f"unexpected error: {type(error).__name__}: {text}; KVFORENSICS_DEBUG=1 shows where")


def _listen() -> None:
    """Have both signals remembered. One that was to be ignored, as behind `nohup`, still is."""
    _stopped.clear()
    with suppress(ValueError):  # only the main thread of a process may say what a signal does
        signal.signal(signal.SIGTERM, _terminated)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _interrupted)


def _interrupted(_signal: int, _frame: object) -> None:
    _stopped.append(INTERRUPTED)
    raise KeyboardInterrupt


def _terminated(_signal: int, _frame: object) -> None:
    _stopped.append(TERMINATED)
    # Workers that got the same signal are missed by a thread that waits for them.
    threading.excepthook = lambda _: None
    sys.exit(TERMINATED)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kvforensics")
def main() -> None:
    """Find out which logged requests a model incident exposed.

    Start with: kvforensics check LOGS... --timezone Europe/Amsterdam
    """
