"""bunyan, pino, Fluent Bit, Vector and the like: where is the line that a JSON logger keeps?"""

from __future__ import annotations

from kvforensics.wrapper_spec import Wrapper

WRAPPER = Wrapper(
    name="json-message",
    title="Loggers and collectors that keep a line in a JSON object (bunyan, pino, Fluent Bit, Vector, ECS)",
    signature=(("message",), ("msg",), ("log",), ("textPayload",), ("jsonPayload",), ("@message",)),
    units=("[]", ""),
    message=("message", "msg", "log", "textPayload", "jsonPayload", "@message"),
    body=("",),
    fields={
        "stamp": ("@timestamp", "time", "timestamp", "ts", "date"),
        "node": ("hostname", "kubernetes.pod_name", "kubernetes.pod", "host.name", "host"),
    },
    goes_on=(("_p", "P"), ("logtag", "P")),
    stream=("stream", "kubernetes.namespace_name", "kubernetes.pod_name", "kubernetes.container_name"),
    last_resort=True,
    links=("https://github.com/trentm/node-bunyan", "https://getpino.io/", "https://docs.fluentbit.io/manual"),
    accepts=(
        ('{"level":30,"time":1788338482027,"pid":1,"hostname":"h","msg":"{\\"model\\":\\"m\\"}"}', '{"model":"m"}'),
        ('{"date":1788338482.027,"log":"text","kubernetes":{"pod_name":"p"}}', "text"),
    ),
    refuses=('{"model":"m"}',),
)
