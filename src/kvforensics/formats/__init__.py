"""Which log formats are there, and in which order are they tried?"""

from __future__ import annotations

import difflib

from kvforensics.errors import UsageError
from kvforensics.formats import (
    anthropic_messages,
    app_json,
    app_json_anthropic,
    app_json_uncertain,
    cloudflare_aig_logpush,
    cloudflare_aig_rest,
    cloudflare_graphql,
    cloudflare_graphql_groups,
    cloudflare_workers_observability,
    cloudflare_workers_trace,
    cloudflare_wrangler_tail,
    http_dump,
    openai_batch,
    openai_chat,
    openai_responses,
)
from kvforensics.spec import Format

_RANKED = (
    cloudflare_aig_rest,
    cloudflare_aig_logpush,
    cloudflare_graphql,
    cloudflare_graphql_groups,
    cloudflare_workers_trace,
    cloudflare_wrangler_tail,
    cloudflare_workers_observability,
    # Shapes of a protocol come after every product's own format, home-made logs last of all.
    openai_batch,
    anthropic_messages,
    openai_responses,
    openai_chat,
    http_dump,
    app_json_anthropic,
    app_json_uncertain,
    app_json,
)


def all_formats() -> tuple[Format, ...]:
    """Every format, in the order in which they are tried on a record."""
    return tuple(module.FORMAT for module in _RANKED)


def by_name(name: str) -> Format:
    """The format of that name; a `UsageError` that names the nearest ones where there is none."""
    known = {f.name: f for f in all_formats()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=3)
    advice = f"did you mean {' or '.join(near)}" if near else "`kvforensics formats` lists them"
    raise UsageError(f"there is no log format named {name!r}", advice=advice)
