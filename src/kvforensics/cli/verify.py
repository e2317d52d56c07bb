"""Is a case or bundle still what was made, and do its findings follow from its records?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from kvforensics.cli import emit, wrapped


@click.command(name="verify")
@click.argument("path", metavar="PATH")
@click.option("--signers", type=click.Path(path_type=Path), metavar="FILE", help="OpenSSH allowed_signers file; the signature "
              "must be by one of them.")  # fmt: skip
@click.option("--identity", metavar="WHO", help="The signer must be this one.")
@click.option("--tsa-ca", "authorities", type=click.Path(path_type=Path), metavar="FILE",
              help="Certificates (PEM) of the time-stamp authority.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def command(path: str, as_json: bool, **trust: Any) -> int:  # noqa: FBT001 - click hands it over by name
    """Check a case folder or a bundle again: digests, signature, custody, ledger, and the judgement itself.

    Exit status: 0 nothing differs, 13 something does, 2 usage error.
    """
    from kvforensics.escape import terminal
    from kvforensics.verification import Trust, verify

    found = verify(Path(path), Trust(**trust))
    if as_json:
        problems = [{"where": p.where, "what": p.what} for p in found.problems]
        answer = {"schema": "kvforensics.verification/1", "verified": not problems, "problems": problems,
                  "checked": list(found.checked), "notes": list(found.notes)}  # fmt: skip
        emit(json.dumps(answer, indent=2, ensure_ascii=True))
        return found.exit_status
    said = [f"holds: {name}" for name in found.checked]
    said += [f"DIFFERS: {terminal(p.where)}: {terminal(p.what)}" for p in found.problems]
    said += [f"note: {terminal(note)}" for note in found.notes]
    said.append("not verified" if found.problems else "verified")
    emit("\n".join(line for one in said for line in wrapped(one)))
    return found.exit_status
