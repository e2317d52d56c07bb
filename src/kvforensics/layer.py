"""What is in one layer around a log line?

Reads one outer value by its `Wrapper`: whether it is of that layer, which lines are inside, what else it knows. `peel`
goes from layer to layer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from kvforensics.decode import once
from kvforensics.paths import compile_path, embedded, lookup, text_of
from kvforensics.spec import ID_KINDS
from kvforensics.wrapper_spec import Wrapper

Path = tuple[str, ...]
Signature = tuple[tuple[tuple[Path, bool], ...], ...]
"""Alternatives of paths that must be there, or must not."""
CALL_NAMES = frozenset(("model", "model_id", "modelid", "model_name", "modelname", "usage"))
SAMPLE = 1 << 16
_COLOURS = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")


def without_colours(line: bytes) -> bytes:
    """The line without terminal escape sequences."""
    return _COLOURS.sub(b"", line) if b"\x1b" in line else line


class Layer:
    """A wrapper made ready to read values."""

    def __init__(self, wrapper: Wrapper) -> None:
        self.wrapper = wrapper
        self.prefix = re.compile(wrapper.pattern.encode()) if wrapper.pattern else None
        self._holds = wrapper.holds.encode()
        self.signature = tuple(tuple(_term(t) for t in terms) for terms in wrapper.signature)
        self._plain = _keys_of(self.signature)
        heads = {steps[0] for terms in self.signature for steps, wanted in terms if wanted}
        self.takes_lists = wrapper.pairs is not None or any(head[0] == "[" for head in heads)
        self._messages = tuple(compile_path(p) for p in wrapper.message)
        self._bodies = tuple(compile_path(p) for p in wrapper.body)
        self._stream = tuple(compile_path(p) for p in wrapper.stream)
        self._going_on = tuple(
            re.compile(rb"\n" + re.sub(rf"\(\?P<{path}>[^()]*\)", re.escape(wanted), wrapper.pattern).encode())
            for path, wanted in wrapper.goes_on
            if wrapper.pattern
        )
        self.slots = _slots(wrapper)
        self._framing = tuple((compile_path(p), wanted) for p, wanted in wrapper.framing)
        self._goes_on = tuple((compile_path(p), wanted) for p, wanted in wrapper.goes_on)

    def match(self, text: bytes) -> re.Match[bytes] | None:
        """What of a line is a layer of text."""
        return self.prefix.match(text) if self.prefix is not None and self._holds in text else None

    def matches(self, value: Any) -> bool:
        """Whether a decoded value is of this layer."""
        if self._plain is not None and type(value) is dict:
            return any(value.keys() >= wanted and never.isdisjoint(value) for wanted, never in self._plain)
        return any(all(_present(value, steps) is wanted for steps, wanted in terms) for terms in self.signature)

    def may_match(self, value: dict[str, Any]) -> bool:
        """Whether an object with the keys of this one may be of this layer."""
        return self.matches(value) if self._plain is not None else may_meet(self.signature, value.keys())

    def of_list(self, values: list[Any]) -> Any:
        """A list as the layer sees it."""
        if self.wrapper.pairs is None:
            return values
        name, value = self.wrapper.pairs
        named = all(type(v) is dict and type(v.get(name)) is str for v in values)
        return {v[name]: v.get(value) for v in values} if named else None

    def is_framing(self, value: Any) -> bool:
        """Whether the unit only repeats or announces others."""
        return any(text_of(lookup(value, steps)) == wanted for steps, wanted in self._framing)

    def messages(self, value: Any) -> Iterator[Any]:
        """The lines inside: bytes, or objects that a collector has parsed already."""
        only_objects = self.wrapper.last_of_all
        for steps in self._messages:
            for found in _every(value, steps):
                if not only_objects or (type(found) is str and found.lstrip()[:1] == "{"):
                    yield from _as_lines(found)

    def is_text(self, value: Any) -> bool:
        """Whether the line inside is one text, as only such a line can be a piece of another."""
        return any(type(lookup(value, steps)) is str for steps in self._messages)

    def tells_twice(self, value: Any, data: bytes) -> bool:
        """Whether the bytes of a layer have the line inside under the same key twice, and differently."""
        keys = [] if self.wrapper.last_of_all else [steps[-1] for steps in self._messages]
        if not (b"\\u00" in data or any(data.count(b'"%b"' % key.encode()) > 1 for key in keys)):
            return False
        return type(value) is dict and not {f"repeated_key:{key}" for key in keys}.isdisjoint(once(data, value)[1])

    def bodies(self, value: Any) -> Iterator[Any]:
        """Objects that may be the record, with dotted names opened."""
        for steps in self._bodies:
            found = lookup(value, steps) if steps else value
            if type(found) is dict:
                yield nested(found)

    def stream(self, value: Any) -> tuple[str | None, ...]:
        """What tells the stream of a piece."""
        return tuple(text_of(lookup(value, steps)) for steps in self._stream)

    def may_go_on(self, data: bytes) -> bool:
        """Whether any piece in a block may be continued; cheap."""
        if self.prefix is not None:
            return any(p.search(b"\n" + data) for p in self._going_on)
        keys = [path for path, _ in self.wrapper.goes_on] or [steps[-1] for steps in self._messages]
        return any(f'"{key}"'.encode() in data for key in keys)

    def goes_on(self, value: Any, message: bytes) -> bool:
        """Whether a piece is continued. A whole JSON object is whole, whatever it ends with."""
        if self._goes_on:
            return any(text_of(lookup(value, steps)) == wanted for steps, wanted in self._goes_on)
        if not self.wrapper.ends or message.endswith(self.wrapper.ends.encode()):
            return False
        return not (message[:1] == b"{" and message[-1:] == b"}" and type(embedded(_text(message))) is dict)


class Signs(Struct, frozen=True):
    """What an object must have to be in one of some layers: all of one alternative, as in the signature of a layer."""

    signature: Signature


def fewest_signs(wrappers: Sequence[Wrapper], lines: bytes) -> list[tuple[Signs, bool]]:
    """Few paths, such as these lines do not have, of which every object in one of the wrappers has some.

    An object may have them and be in none. Apart for those that yield to formats of products, and those that do not.
    """
    layers = [Layer(w) for w in wrappers if w.signature and not w.last_of_all]
    sample = lines[:SAMPLE]
    found = []
    for yields in (False, True):
        asked = [x.signature for x in layers if x.wrapper.last_resort is yields]
        signs = _fewest([tuple(steps for steps, wanted in t if wanted) for terms in asked for t in terms], sample)
        found.append((Signs(tuple(tuple((steps, True) for steps in paths) for paths in signs)), yields))
    return found


def _fewest(alternatives: list[tuple[Path, ...]], sample: bytes) -> Iterator[tuple[Path, ...]]:
    """Of each alternative one path that the sample has not, the same one for many of them, or all where it has all."""
    heads = {steps[0] for paths in alternatives for steps in paths}
    absent = {head for head in heads if f'"{head}'.encode() not in sample}
    while alternatives:
        counts = Counter(steps for paths in alternatives for steps in paths if steps[0] in absent)
        forced = [paths for paths in alternatives if len(paths) == 1 or counts.keys().isdisjoint(paths)]
        found = forced[0] if forced else (max(counts, key=lambda steps: counts[steps]),)
        yield found
        alternatives = [paths for paths in alternatives if not set(found) <= set(paths)]


def may_meet(signature: Signature, keys: Container[str]) -> bool:
    """Whether an object with some of these keys may meet a signature, whatever its values are."""
    return any(all(_may_lead(steps, keys) for steps, wanted in terms if wanted) for terms in signature)


def _may_lead(steps: Path, keys: Container[str]) -> bool:
    """Whether a path may lead to something: by its first key, by one that spells it flat with dots, or by a search."""
    if steps[0][0] in "~*":
        return True
    flat = (".".join(steps[:n]) for n in range(1, len(steps) + 1))
    return steps[0].split(".")[0] in keys or any(name in keys for name in flat)


def outer_slots(layers: Sequence[tuple[Layer, Any]]) -> dict[str, tuple[Any, str]]:
    """For each slot the value that the innermost layer knows, and the unit of a duration."""
    found: dict[str, tuple[Any, str]] = {}
    for layer, value in layers:
        for slot, paths in layer.slots.items():
            for steps, unit in paths:
                held = lookup(value, steps)
                if held not in (None, "", "-"):
                    found[slot] = (held, unit)
                    break
    return found


def _slots(wrapper: Wrapper) -> dict[str, tuple[tuple[Path, str], ...]]:
    named = {**wrapper.fields, **{f"id_{k}": paths for k, paths in wrapper.ids.items() if k in ID_KINDS}}
    split = {slot: [p.partition("|") for p in paths] for slot, paths in named.items()}
    return {slot: tuple((compile_path(p), unit or "ms") for p, _, unit in paths) for slot, paths in split.items()}


def nested(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object whose dotted names are opened (`llm.model` is `model` in `llm`), and whose lists of one text are that text."""
    opened: dict[str, Any] = {}
    for name, held in value.items():
        single = held[0] if type(held) is list and len(held) == 1 and type(held[0]) is not dict else held
        steps = name.split(".") if "." in name.strip(".") else [name]
        here = opened
        for step in steps[:-1]:
            below = here.get(step)
            if type(below) is not dict:
                below = here[step] = {}
            here = below
        known = here.get(steps[-1])
        inner = nested(single) if type(single) is dict else single
        if type(known) is dict and type(inner) is dict:
            here[steps[-1]] = {**inner, **known}
        elif known is None:
            here[steps[-1]] = inner
    return opened


def record_in(value: dict[str, Any]) -> dict[str, Any]:
    """The innermost object that holds everything which tells of a model call, the value itself where that is on top."""
    while not _tells(value):
        inner = [v for v in value.values() if type(v) is dict and _holds(v)]
        if len(inner) != 1:
            return value
        value = inner[0]
    return value


def _tells(value: Mapping[str, Any]) -> bool:
    return any(k.lower() in CALL_NAMES for k in value)


def _holds(value: Mapping[str, Any], depth: int = 0) -> bool:
    return _tells(value) or (depth < 8 and any(type(v) is dict and _holds(v, depth + 1) for v in value.values()))


def _every(value: Any, steps: Path) -> Iterator[Any]:
    """What a path leads to, through every element of the lists on the way."""
    if not steps or type(value) is not list or steps[0][0] == "[":
        if not steps or steps[0][0] == "[" or type(value) is not dict or steps[0] not in value:
            found = lookup(value, steps) if steps else value
            if found is not None:
                yield found
            return
        yield from _every(value[steps[0]], steps[1:])
        return
    for element in value:
        yield from _every(element, steps)


def _as_lines(found: Any) -> Iterator[Any]:
    if type(found) is str:
        yield found.encode("utf-8", "replace")
    elif type(found) is dict:
        yield found
    elif type(found) is list and found and type(found[0]) is int:
        try:
            yield bytes(found)
        except (TypeError, ValueError):
            return
    elif type(found) is list:
        for element in found:
            yield from _as_lines(element)


def _text(message: bytes) -> str:
    return message.decode("utf-8", "replace")


def is_fragment(data: bytes) -> bool:
    """Whether text looks like a part of a JSON record."""
    return b'":' in data or b'", "' in data or b'","' in data


def encoded(value: Any) -> bytes:
    """A decoded value as JSON again."""
    return msgspec.json.encode(value)


def _term(term: str) -> tuple[Path, bool]:
    return (compile_path(term[1:]), False) if term.startswith("!") else (compile_path(term), True)


def _keys_of(signature: Sequence[Sequence[tuple[Path, bool]]]) -> list[tuple[frozenset[str], frozenset[str]]] | None:
    """For each alternative the keys that must be there, and those that must not; None where a path is no key."""
    if any(len(steps) != 1 for terms in signature for steps, _ in terms):
        return None
    return [
        (frozenset(s[0] for s, wanted in terms if wanted), frozenset(s[0] for s, wanted in terms if not wanted))
        for terms in signature
    ]


def _present(value: Any, steps: Path) -> bool:
    if len(steps) == 1 and type(value) is dict:
        return steps[0] in value
    found = lookup(value, steps)
    # A pair of a time and a line is text; a list of records must not be taken for one.
    return found is not None and not (steps[-1][0] == "[" and type(found) in (dict, list))
