"""Which files are made of whose data was in whose reach?

Pages and notices beside the logs, and what goes along with a case that is handed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kvforensics.engine.exposure_document import Exposure, exposure_of, read_exposure
from kvforensics.exports.defused_csv import table_bytes
from kvforensics.page_files import MEDIA, fill, medium_of, notice_name, rendered, write_page
from kvforensics.telling.exposure import exposure_page
from kvforensics.telling.source_notice import source_page
from kvforensics.whole import refuse_taken, whole_folder

PAIRS = (
    "receiving_tenant", "source_tenant", "responses_likely", "responses_in_replay", "responses_at_most", "rows_low", "rows",
    "rows_high",
)  # fmt: skip


def check_outputs(files: Sequence[str], folder: str | None) -> None:
    """Raises `UsageError` before anything is read where an output cannot be made."""
    for path in files:
        medium_of(path)
    if folder is not None:
        refuse_taken(Path(folder))


def write_exposure(document: Mapping[str, Any], files: Sequence[str], folder: str | None) -> None:
    """Write the page in each medium that a name asks for, and a notice for each source tenant into the folder."""
    exposure = exposure_of(document)
    for path in files:
        write_page(path, exposure_page(exposure), document)
    if folder is not None:
        with whole_folder(Path(folder), "the folder of notices") as partial:
            for name, data in _notices(exposure):
                fill(partial / name, (data,))


def handed_over(path: str) -> Mapping[str, bytes]:
    """What goes along with a case: the document as it is, the matrix as a table, and the notices to source tenants."""
    told = read_exposure(Path(path))
    rows = ({name: getattr(pair, name) for name in PAIRS} for pair in told.exposure.matrix)
    return {
        "exposure.json": told.data,
        "matrix.csv": table_bytes(PAIRS, rows),
        **{f"notices/{name}": data for name, data in _notices(told.exposure)},
    }


def write_handed_over(path: str, target: Path) -> int:
    """The same as a folder of its own; how many files."""
    files = handed_over(path)
    with whole_folder(target, "the exposure") as folder:
        for name, data in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
    return len(files)


def _notices(exposure: Exposure) -> Iterator[tuple[str, bytes]]:
    for own in exposure.sources:
        if own.tenant is not None:
            yield f"{notice_name(own.tenant)}{MEDIA['html']}", rendered(source_page(exposure, own), "html")
