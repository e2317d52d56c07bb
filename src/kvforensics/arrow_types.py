"""As what does Polars get a type of Arrow that it does not have?

It ends with a panic where it meets one, so it is never shown any.
"""

from __future__ import annotations

from functools import cache
from zoneinfo import ZoneInfo

import pyarrow as pa
from pyarrow import types

ENTRY = ("\x01key", "\x01value")
"""The names of the two parts of an entry of a map, which is a list of these."""


def known(kind: pa.DataType) -> pa.DataType:
    """The type that says the same and that Polars has; the same one where it has it."""
    if types.is_timestamp(kind):
        # Whatever the zone, what is kept is an instant.
        return kind if kind.tz is None or _is_zone(kind.tz) else pa.timestamp(kind.unit, "UTC")
    if isinstance(kind, pa.BaseExtensionType):
        return known(kind.storage_type)
    if types.is_decimal256(kind):
        return pa.string()
    if types.is_dictionary(kind):
        return kind if known(kind.value_type) == kind.value_type else known(kind.value_type)
    if types.is_struct(kind):
        return pa.struct([_known_field(field) for field in kind])
    if types.is_map(kind):
        # Of a key that is there twice Polars would read the last one only.
        return pa.list_(pa.struct([*zip(ENTRY, map(known, (kind.key_type, kind.item_type)), strict=True)]))
    if types.is_fixed_size_list(kind):
        return pa.list_(_known_field(kind.value_field), kind.list_size)
    if types.is_large_list(kind) or types.is_large_list_view(kind):
        return pa.large_list(_known_field(kind.value_field))
    if types.is_list(kind) or types.is_list_view(kind):
        return pa.list_(_known_field(kind.value_field))
    return kind


def is_bearable(kind: pa.DataType) -> bool:
    """Whether Polars may be shown a file with such a column, though it may not read that one."""
    parts = (kind.key_type, kind.item_type) if types.is_map(kind) else (kind,)
    return all(known(part) == part for part in parts)


def _known_field(field: pa.Field) -> pa.Field:
    return field.with_type(known(field.type))


@cache
def _is_zone(name: str) -> bool:
    """Whether it is the name of a place in the time zone database; Arrow also has offsets and any other text.

    Of the other names there some are files that only zoneinfo takes for zones.
    """
    if name == "UTC":
        return True
    try:
        return "/" in name and name.partition("/")[0] not in ("posix", "right") and bool(ZoneInfo(name))
    except (KeyError, OSError, ValueError):
        return False
