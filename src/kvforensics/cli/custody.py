"""Who had the case, and who adds a handling? Shows the chain of custody, or appends what a person says."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import click

from kvforensics.cli import emit
from kvforensics.errors import UsageError

_SHOWN = ("role", "purpose", "from", "to", "location", "note")


@click.command(name="custody")
@click.argument("path", metavar="CASE")
@click.option("--add", is_flag=True, help="Append an entry; needs --by and --action.")
@click.option("--by", "actor", metavar="NAME", help="Who did it.")
@click.option("--action", metavar="WHAT", help="What was done: received, handed over, examined, copied, returned ...")
@click.option("--time", metavar="TIME", help="When, with offset; left out, it is not told.")
@click.option("--role", metavar="ROLE", help="In what role.")
@click.option("--purpose", metavar="TEXT", help="What for.")
@click.option("--from", "from_", metavar="NAME", help="From whom it was received.")
@click.option("--to", metavar="NAME", help="To whom it went.")
@click.option("--location", metavar="PLACE", help="Where it is kept.")
@click.option("--note", metavar="TEXT", help="Anything else.")
@click.option("--item", metavar="SHA256", help="What was handled; default this case or bundle.")
@click.option("--json", "as_json", is_flag=True, help="Print the entries as JSON.")
def command(path: str, add: bool, as_json: bool, item: str | None, **said: Any) -> int:  # noqa: FBT001 - click's way
    """Show the chain of custody of a case folder or a bundle, or add to it.

    The chain shows changes, not forgery: keep the digest of the last entry elsewhere too.
    """
    from kvforensics.custody import FILE, Handling, extended, head, read_chain, stored_chain, utc
    from kvforensics.escape import terminal
    from kvforensics.whole import whole_file

    folder = Path(path)
    what = next((folder / n for n in ("tagmanifest-sha512.txt", "case.json") if (folder / n).is_file()), None)
    if what is None:
        raise UsageError("is neither a case folder nor a bundle", where=path)
    chain = stored_chain(folder)
    if add:
        if not said["actor"] or not said["action"]:
            raise UsageError("an entry needs --by and --action")
        said["time_utc"] = None if said["time"] is None else utc(said["time"])
        del said["time"]
        digest = item or hashlib.sha256(what.read_bytes()).hexdigest()
        longer = extended(chain, Handling(item_sha256=digest, **said))
        # Half an entry would break the chain for good, so the whole of it is put in place of the old one.
        with whole_file(folder / FILE, "the chain of custody", replace=True) as partial:
            partial.write_bytes(longer)
        chain = longer
    elif any(said.values()):
        raise UsageError("nothing is added without --add")
    entries = read_chain(chain)
    if as_json:
        emit(json.dumps({"entries": entries, "head": head(chain)}, indent=2, ensure_ascii=True))
        return 0
    lines = []
    for entry in entries:
        lines.append(f"{entry['seq']}. {entry['time_utc'] or 'time not told'}: {terminal(entry['actor'])}:"
                     f" {terminal(entry['action'])}")  # fmt: skip
        lines += [f"   {key} {terminal(str(entry[key]))}" for key in _SHOWN if entry[key]]
        lines.append(f"   item {terminal(entry['item_sha256'])}")
    lines.append(f"last digest: {head(chain)}" if entries else "no entry yet")
    emit("\n".join(lines))
    return 0
