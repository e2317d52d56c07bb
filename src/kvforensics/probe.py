"""Which lines of a known layout are plainly about another model?

Decodes only the model and the time of each line, a whole block in one call of the parser. The lines are joined with a
separator that no log can hold, so that a line that is broken can never be mended by its neighbours. What the probe does
not understand it leaves to the careful path.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from kvforensics.spec import Format

CHUNK = 512


class Probe:
    """Reads (model, time) of each line of one format."""

    def __init__(self, fmt: Format, model: str, time: str | None) -> None:
        self.format = fmt
        self.model_key = f'"{model}"'.encode()
        fields: list[tuple[str, Any, Any]] = [("model", str | None, msgspec.field(name=model, default=None))]
        if time:
            fields.append(("time", str | int | float | None, msgspec.field(name=time, default=None)))
        else:
            fields.append(("time", str | int | float | None, msgspec.field(name="\x00", default=None)))
        shape = msgspec.defstruct("Line", fields, gc=False)
        self._one: Callable[[str], Any] = msgspec.json.Decoder(shape).decode
        self._many: Callable[[str], Any] = msgspec.json.Decoder(list[shape | str]).decode  # type: ignore[valid-type]
        self._unread = shape()
        self._mark = secrets.token_hex(12)
        self._joint = f'\n,"{self._mark}",\n'

    def is_plain(self, data: bytes, with_model: int) -> bool:
        """Whether each line that has a model spells its key once and in the plain way; cheap, and never wrongly yes."""
        return b"\\u" not in data and data.count(self.model_key) == with_model

    def read(self, lines: Sequence[bytes]) -> tuple[list[str | None], list[Any]]:
        """For each line its model and time; a model of None needs a closer look."""
        models: list[str | None] = []
        times: list[Any] = []
        for start in range(0, len(lines), CHUNK):
            rows = self._chunk(lines[start : start + CHUNK])
            models += [r.model for r in rows]
            times += [r.time for r in rows]
        return models, times

    def _chunk(self, lines: Sequence[bytes]) -> list[Any]:
        try:
            rows: list[Any] = self._many("[" + self._joint.join([line.decode() for line in lines]) + "]")
            if len(rows) == 2 * len(lines) - 1 and rows[1::2] == [self._mark] * (len(lines) - 1):
                own = rows[::2]
                if str not in set(map(type, own)):
                    return own
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
        return [self._line(line) for line in lines]

    def _line(self, line: bytes) -> Any:
        try:
            return self._one(line.decode())
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._unread


def probe_for(formats: Sequence[Format]) -> Probe | None:
    """A probe for the first format, where its model and time are plain keys of the line and nothing else needs a look."""
    fmt = formats[0]
    plain = [p for p in (*fmt.fields.get("model", ()), *_times(fmt)) if any(c in p for c in ".[~*|")]
    models = fmt.fields.get("model", ())
    if plain or len(models) != 1 or len(_times(fmt)) > 1 or fmt.framing or fmt.aggregates or "sample_interval" in fmt.fields:
        return None
    times = _times(fmt)
    return Probe(fmt, models[0], times[0] if times else None)


def _times(fmt: Format) -> tuple[str, ...]:
    return (*fmt.fields.get("start", ()), *fmt.fields.get("stamp", ()), *fmt.fields.get("end", ()))
