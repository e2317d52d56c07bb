"""Is every format told by its content alone, in each of its containers, in every wrapper, among all the others?"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kvforensics.case import Case, CheckOptions
from kvforensics.formats import all_formats
from kvforensics.recognise import recognise
from kvforensics.source import find_sources
from kvforensics.spec import Format
from kvforensics.wrapper_spec import Wrapper
from kvforensics.wrappers import all_wrappers

FORMATS, WRAPPERS = all_formats(), all_wrappers()


def nameless(label: str) -> str:
    """A name that tells nothing."""
    return hashlib.sha256(label.encode()).hexdigest()[:12]


def enveloped(path: str, records: list[Any]) -> Any:
    """A document that has the records where an envelope path says."""
    value: Any = records
    for step in reversed(path.split(".")):
        name, _, rest = step.partition("[]")
        assert not rest
        if step.endswith("[]"):
            value = value if type(value) is list else [value]
        elif type(value) is list:
            (value,) = value
        value = {name: value} if name else value
    return value


def table(records: list[dict[str, Any]]) -> pl.DataFrame:
    """Records as rows, what is nested as JSON."""
    names = dict.fromkeys(k for r in records for k in r)
    return pl.DataFrame({n: [_cell(r.get(n)) for r in records] for n in names}, schema=dict.fromkeys(names, pl.String))


def _cell(value: Any) -> str | None:
    return value if type(value) is str or value is None else json.dumps(value)


def stored(fmt: Format, container: str, sample: str) -> bytes:
    if container in ("lines", "text"):
        return sample.encode() + b"\n"
    record = json.loads(sample)
    if container == "json":
        return json.dumps(enveloped(fmt.units[0], [record]), indent=1).encode()
    out = io.BytesIO()
    if container == "csv":
        table([record]).write_csv(out)
    else:
        table([record]).write_parquet(out)
    return out.getvalue()


def holds(fmt: Format, container: str, sample: str) -> bool:
    """Whether a container can hold a sample: a table has no depth, in which home-made logs are searched."""
    flat = container not in ("csv", "parquet") or not fmt.name.startswith("app-json")
    return flat or not any(type(v) is dict and "model" in v for v in json.loads(sample).values())


def formats() -> dict[str, tuple[str, bytes]]:
    """File names, what each should be told to be, and the bytes."""
    return {
        nameless(f"{fmt.name} {container} {at}"): (fmt.name, stored(fmt, container, sample))
        for fmt in FORMATS
        for container in fmt.containers
        for at, sample in enumerate(fmt.accepts)
        if holds(fmt, container, sample)
    }


def around(wrapper: Wrapper, line: str) -> str | None:
    """A sample of a wrapper with another line in it, None where no sample has a line of text as it is."""
    for outer, inner in wrapper.accepts:
        if wrapper.pattern and outer.endswith(inner):
            return outer.removesuffix(inner) + line
        before, after = json.dumps(inner)[1:-1], json.dumps(line)[1:-1]
        if not wrapper.pattern and before in outer:
            return outer.replace(before, after)
    return None


def wrapped() -> dict[str, tuple[str, bytes]]:
    """Every wrapper around a record of a product's own, around a home-made one, and around another wrapper with one in it."""
    found = {}
    docker = next(w for w in WRAPPERS if w.name == "docker-json")
    for wrapper in (w for w in WRAPPERS if not w.is_record):
        for name in ("cloudflare-aig-rest", "app-json", "docker-json > app-json"):
            line: str | None = next(f for f in FORMATS if f.name == name.rpartition(" ")[2]).accepts[0]
            line = around(docker, line) if line and " > " in name else line
            outer = around(wrapper, line) if line else None
            if outer is not None and not (wrapper is docker and " > " in name):
                found[nameless(f"{wrapper.name} {name}")] = (f"{wrapper.name} > {name}", outer.encode() + b"\n")
    return found


def told(folder: Path) -> dict[str, str | None]:
    """What each file of a folder is told to be."""
    found = {}
    for source in find_sources([str(folder)]):
        recognised = recognise(source, FORMATS)
        recognised.stream.close()
        found[source.name.rpartition("/")[2]] = recognised.plan.main if recognised.plan else None
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [formats, wrapped])
def test_every_sample_is_told_by_its_content_alone(
    tmp_path: Path, kinds: Callable[[], dict[str, tuple[str, bytes]]]
) -> None:
    files = kinds()
    for name, (_, data) in files.items():
        (tmp_path / name).write_bytes(data)
    found = told(tmp_path)
    assert {(name, found[name]) for name, (expected, _) in files.items() if found[name] != expected} == set()


def test_every_wrapper_is_among_those_that_are_tried() -> None:
    tried = {label.partition(" > ")[0] for label, _ in wrapped().values()}
    assert tried == {w.name for w in WRAPPERS if not w.is_record}


@pytest.mark.parametrize(("bare", "expected"), [(1, "cri > app-json"), (2, "app-json"), (3, "app-json")])
def test_layers_name_a_source_only_where_most_of_its_records_have_them(tmp_path: Path, bare: int, expected: str) -> None:
    line = next(f for f in FORMATS if f.name == "app-json").accepts[0]
    inside = around(next(w for w in WRAPPERS if w.name == "cri"), line)
    (tmp_path / "x").write_text(f"{inside}\n" * 2 + f"{line}\n" * bare)
    with Case() as case:
        (source,) = case.check(CheckOptions((str(tmp_path / "x"),))).summary["inputs"]
    assert (source["format"], source["records"]) == (expected, 2 + bare)
