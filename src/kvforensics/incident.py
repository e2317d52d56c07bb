"""What is the incident: which model, which window, which threshold?

Incidents are data. The shipped ones are TOML files in the folder `incidents` of the package; a user's own file has the
same form. All times are microseconds since 1970 in UTC, windows are half-open.
"""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from kvforensics.errors import UsageError
from kvforensics.strict_toml import Table, read_toml

SCHEMA = "kvforensics.incident/1"
DEFAULT_INCIDENT = "cloudflare-workers-ai-glm-5.3"
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


class NodeThreshold(Struct, frozen=True):
    """The threshold that held on a node for a time, [since, until); None is an end that is open.

    `names` are what records may call the node: a name, an address, the name of its log.
    """

    names: tuple[str, ...]
    since_us: int | None
    until_us: int | None
    prompt_tokens_over: int
    uncertain_from: int


class Incident(Struct, frozen=True):
    """One incident file.

    `prompt_tokens_over` is exceeded strictly; from `uncertain_from` up to it nobody can say. `max_gap_us` is the longest
    silence that still counts as coverage, `max_request_us` the longest request where only its end is known.
    `template_allowance` is in tokens, `context_length` too (None where no count is absurd). `digest` is the SHA-256 of the
    file, `text` the file itself, so that a case can tell what was asked.
    """

    id: str
    title: str
    start_us: int
    end_us: int
    uncertain_until_us: int
    max_gap_us: int
    prompt_tokens_over: int
    uncertain_from: int
    template_allowance: int
    context_length: int | None
    max_request_us: int
    model_ids: tuple[str, ...]
    model_names: tuple[str, ...]
    providers: tuple[str, ...]
    hosts: tuple[str, ...]
    other_providers: tuple[str, ...]
    other_hosts: tuple[str, ...]
    published_affected_responses: int | None
    sources: tuple[str, ...]
    timeline: tuple[tuple[int, str], ...]
    nodes: tuple[NodeThreshold, ...]
    digest: str
    text: str

    @property
    def lowest_over(self) -> int:
        """A prompt that is not over this many tokens is over no threshold of the incident, nor in an uncertain band."""
        by_node = (limit for n in self.nodes for limit in (n.prompt_tokens_over, n.uncertain_from - 1))
        return min(self.prompt_tokens_over, self.uncertain_from - 1, *by_node)


def shipped_incidents() -> tuple[str, ...]:
    """The ids of the incident files in the package, sorted."""
    folder = files("kvforensics").joinpath("incidents")
    return tuple(sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")))


def load_incident(id_or_path: str = DEFAULT_INCIDENT) -> Incident:
    """The incident with a shipped id, or of a file. Raises `UsageError` where there is none or it is not valid."""
    if id_or_path in shipped_incidents():
        name = f"{id_or_path}.toml"
        return parse_incident(files("kvforensics").joinpath("incidents", name).read_bytes(), name)
    path = Path(id_or_path)
    if not path.is_file():
        raise UsageError(
            "no such incident", where=id_or_path, advice=f"give a file or one of: {', '.join(shipped_incidents())}"
        )
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=id_or_path) from error
    return parse_incident(data, id_or_path)


def parse_incident(data: bytes, where: str) -> Incident:
    """The incident that a file's bytes describe; `where` is its name in errors."""
    root = read_toml(data, where, SCHEMA)
    root.known(("schema", "id", "title", "window", "threshold", "model", "published", "timeline", "node"))
    ident = root.string("id")
    if not _ID.fullmatch(ident):
        root.fail("id", "should be lower-case letters, digits, dots, dashes and underscores")
    start, end, until, gap = _window(root.table("window"))
    threshold = root.table("threshold")
    over, uncertain_from, context = _threshold(threshold)
    model = root.table("model")
    _check_model(model)
    published = root.table("published", optional=True)
    published.known(("affected_responses", "sources"))
    return Incident(
        id=ident,
        title=root.string("title"),
        start_us=start,
        end_us=end,
        uncertain_until_us=until,
        max_gap_us=gap,
        prompt_tokens_over=over,
        uncertain_from=uncertain_from,
        template_allowance=threshold.number("template_allowance", least=0, default=4096),
        context_length=context,
        max_request_us=threshold.duration("max_request", "1h"),
        model_ids=model.strings("ids"),
        model_names=model.strings("names", optional=True),
        providers=model.strings("providers", optional=True),
        hosts=_hosts(model, "hosts"),
        other_providers=model.strings("other_providers", optional=True),
        other_hosts=_hosts(model, "other_hosts"),
        published_affected_responses=(
            published.number("affected_responses", least=0) if "affected_responses" in published.values else None
        ),
        sources=published.strings("sources", optional=True),
        timeline=_timeline(root),
        nodes=_nodes(root, uncertain_from),
        digest=hashlib.sha256(data).hexdigest(),
        text=data.decode(),
    )


def _window(window: Table) -> tuple[int, int, int, int]:
    window.known(("start", "end", "uncertain_until", "max_gap"))
    start, end = window.instant("start"), window.instant("end")
    if start >= end:
        window.fail("end", "should be later than start")
    until = window.instant("uncertain_until") if "uncertain_until" in window.values else end
    if until < end:
        window.fail("uncertain_until", "should not be earlier than end")
    return start, end, until, window.duration("max_gap", "24h")


def _threshold(threshold: Table) -> tuple[int, int, int | None]:
    threshold.known(("prompt_tokens_over", "uncertain_from", "template_allowance", "context_length", "max_request"))
    over = threshold.number("prompt_tokens_over", least=0)
    uncertain_from = threshold.number("uncertain_from", least=0, default=over + 1)
    if uncertain_from > over + 1:
        threshold.fail("uncertain_from", "should not be more than prompt_tokens_over plus one")
    context = threshold.number("context_length", least=1) if "context_length" in threshold.values else None
    if context is not None and context <= over:
        threshold.fail("context_length", "should be more than prompt_tokens_over, or no prompt could be over it")
    return over, uncertain_from, context


def _check_model(model: Table) -> None:
    model.known(("ids", "names", "providers", "hosts", "other_providers", "other_hosts"))
    for ours, others in (("providers", "other_providers"), ("hosts", "other_hosts")):
        both = {v.casefold() for v in model.strings(ours, optional=True)}
        for value in model.strings(others, optional=True):
            if value.casefold() in both:
                model.fail(others, f"names {value!r}, which is in {ours} too")
    for name in model.strings("names", optional=True):
        if "/" in name:
            model.fail("names", f"holds {name!r}: a name is one path segment", "give whole paths as ids")


def _hosts(model: Table, key: str) -> tuple[str, ...]:
    hosts = tuple(h.lower() for h in model.strings(key, optional=True))
    for host in hosts:
        if not _HOST.fullmatch(host):
            model.fail(key, f"holds {host!r}, which is not a host name", "leave out scheme, port and path")
    return hosts


def _timeline(root: Table) -> tuple[tuple[int, str], ...]:
    points = []
    for entry in root.tables("timeline", optional=True):
        entry.known(("at", "what"))
        points.append((entry.instant("at"), entry.string("what")))
    return tuple(sorted(points))


def _nodes(root: Table, least: int) -> tuple[NodeThreshold, ...]:
    """The thresholds by node. None may be uncertain below the incident's own, as records below that are not kept."""
    found = []
    for entry in root.tables("node", optional=True):
        entry.known(("names", "since", "until", "prompt_tokens_over", "uncertain_from"))
        since, until = (entry.instant(k) if k in entry.values else None for k in ("since", "until"))
        if since is not None and until is not None and since >= until:
            entry.fail("until", "should be later than since")
        over = entry.number("prompt_tokens_over", least=0)
        uncertain = entry.number("uncertain_from", least=0, default=over + 1)
        if uncertain > over + 1:
            entry.fail("uncertain_from", "should not be more than prompt_tokens_over plus one")
        if uncertain < least:
            entry.fail("uncertain_from", "should not be less than threshold.uncertain_from", "lower the one in [threshold]")
        found.append(NodeThreshold(entry.strings("names"), since, until, over, uncertain))
    return tuple(found)


def template() -> str:
    """A commented incident file to start a new one from; it is valid as it stands."""
    return _TEMPLATE


_TEMPLATE = f"""schema = "{SCHEMA}"
id = "my-incident"                          # lower-case letters, digits, dots, dashes, underscores
title = "What happened, in one line"

[window]                                    # half-open: start belongs to it, end does not; offsets are required
start = 2026-01-01T00:00:00Z
end = 2026-01-02T00:00:00Z
# uncertain_until = 2026-01-02T01:00:00Z    # from end to here nobody can say; left out: end
max_gap = "24h"                             # a longer silence in a log is a gap in the evidence

[threshold]
prompt_tokens_over = 100000                 # strictly over
# uncertain_from = 99990                    # from here to the line above nobody can say; left out: the line above plus one
template_allowance = 4096                   # tokens that a chat template can add to the bytes of a request
# context_length = 200000                   # 16 times this is no believable count; left out: every count is believed
max_request = "1h"                          # the longest a request can have run where only its end is known

[model]
ids = ["provider/maker/model-1"]            # match the last path segments exactly, at any host
names = []                                  # shorter names that other hosts use too
providers = []                              # a short name is the model at these ...
hosts = []
other_providers = []                        # ... and another one at these
other_hosts = []

[published]
# affected_responses = 0                    # what the provider said
sources = []

# [[node]]                                  # a threshold of its own for one node, for a time; repeatable
# names = ["prefill-0", "192.0.2.20"]       # what records call the node: name, address, name of its log
# since = 2026-01-01T06:00:00Z              # left out: always; until likewise
# prompt_tokens_over = 120000

# [[timeline]]                              # drawn on the charts
# at = 2026-01-01T12:00:00Z
# what = "Report received"
"""
