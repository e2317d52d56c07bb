"""Elasticsearch and OpenSearch hits: where is the document, or the line that it keeps?"""

from __future__ import annotations

from kvforensics.spec import BlindSpot
from kvforensics.wrapper_spec import Wrapper

WRAPPER = Wrapper(
    name="elastic",
    title="Elasticsearch or OpenSearch hits",
    signature=(("_source", "_index"), ("_source", "_id"), ("fields", "_index", "_id")),
    units=("hits.hits[]", "responses[].hits.hits[]", "rawResponse.hits.hits[]", "[]"),
    message=("_source.message", "_source.event.original", "_source.log", "fields.message"),
    body=("_source", "fields"),
    fields={
        "stamp": ("_source.@timestamp", "fields.@timestamp"),
        "node": ("_source.host.name", "_source.kubernetes.pod.name", "_source.host.hostname"),
    },
    blind_spots=(
        BlindSpot(
            "ignore_above",
            "Fields longer than the mapping's `ignore_above` are kept in the document but not found by a search for them.",
        ),
        BlindSpot("result_window", "One search returns at most 10,000 hits unless it pages; compare with the total."),
    ),
    export=("Page through the index with `search_after` or a scroll and write one hit a line.",),
    links=("https://www.elastic.co/docs/api/doc/elasticsearch/operation/operation-search",),
    accepts=(
        (
            '{"_index":"i","_id":"1","_source":{"@timestamp":"2026-09-02T08:41:22Z","message":"{\\"model\\":\\"m\\"}"}}',
            '{"model":"m"}',
        ),
    ),
    refuses=('{"_source":"x"}',),
)
