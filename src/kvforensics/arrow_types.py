"""As what does Polars get a type of Arrow that it does not have?

It ends with a panic where it meets one, so it is never shown any.
"""

from __future__ import annotations

from functools import cache
from zoneinfo import ZoneInfo

import pyarrow as pa
from pyarrow import types


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
        return pa.map_(known(kind.key_type), _known_field(kind.item_field))
    if types.is_fixed_size_list(kind):
        return pa.list_(_known_field(kind.value_field), kind.list_size)
    if types.is_large_list(kind) or types.is_large_list_view(kind):
        return pa.large_list(_known_field(kind.value_field))
    if types.is_list(kind) or types.is_list_view(kind):
        return pa.list_(_known_field(kind.value_field))
    return kind


def _known_field(field: pa.Field) -> pa.Field:
    return field.with_type(known(field.type))


@cache
def _is_zone(name: str) -> bool:
    """Whether it is a name of the time zone database; Arrow also has offsets and any other text."""
    try:
        return bool(ZoneInfo(name))
    except (KeyError, OSError, ValueError):
        return False
