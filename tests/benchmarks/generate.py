"""What do the benchmark's logs hold, and which answer is right?

Writes gateway-shaped JSON Lines (about 430 bytes a line, one in ten on the affected model, 20 August to 20 September
2026, a few hundred affected) as they are, gzipped and as zstd, and the truth beside them. The same count and seed give
the same lines.
"""

from __future__ import annotations

import argparse
import json
import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

MODEL = "@cf/zai-org/glm-5.3"
MODELS = (
    "@cf/meta/llama-3.3-70b-instruct-fp8-fast", "@cf/openai/gpt-oss-120b", "@cf/zai-org/glm-5.2", "@cf/qwen/qwen3-30b",
    "@cf/zai-org/glm-5.3-flash", "@cf/mistral/small-3.1-24b", "@cf/google/gemma-4-26b", "@cf/baai/bge-m3",
    "@cf/moonshotai/kimi-k2.6", MODEL,
)  # fmt: skip
FIRST, LAST = datetime(2026, 8, 20, tzinfo=UTC), datetime(2026, 9, 20, tzinfo=UTC)
WINDOW = (datetime(2026, 8, 27, tzinfo=UTC), datetime(2026, 9, 9, 14, tzinfo=UTC))
OVER = 681_280
LONG_CALLS = 700
CHUNK = 4096
POOL = 8192  # endings of lines, made once
GZIP_LEVEL = 6


@dataclass(frozen=True, slots=True)
class Truth:
    """What a reader of the file has to find: bytes are those of the plain file."""

    lines: int
    bytes: int
    affected: int


def _ending(chance: random.Random, model: str, tokens: int, status: int) -> str:
    """A line from its duration on."""
    ok = status == 200
    team, user = int(chance.random() ** 3 * 400), int(chance.random() * 9000) + 1000
    out = int(chance.random() * 4000) + 1
    return (
        f'"duration":{int(chance.random() * 60_000) + 100},"model":"{model}","path":"chat/completions",'
        f'"provider":"workers-ai","success":{"true" if ok else "false"},"tokens_in":{tokens if ok else 0},'
        f'"tokens_out":{out if ok else 0},"cost":{tokens * 1.4e-6:.6f},"custom_cost":false,'
        f'"metadata":"{{\\"team\\":\\"team-{team:04}\\",\\"user_id\\":\\"u-{user}\\"}}","model_type":"chat",'
        f'"response_content_type":"text/event-stream",'
        f'"status_code":{status},"step":0}}\n'
    )


def chunks(count: int, seed: int = 7) -> Iterator[tuple[bytes, int]]:
    """The lines, a few thousand at a time, with the number of affected ones among them."""
    chance = random.Random(seed)
    endings = []
    for n in range(POOL):
        tokens = int(chance.random() ** 4 * 600_000) + 1
        status = 200 if chance.random() < 0.94 else (429, 500, 400)[n % 3]
        endings.append(_ending(chance, MODELS[int(chance.random() * 10)], tokens, status))
    long = [_ending(chance, MODEL, OVER + 1 + int(chance.random() * 360_000), 200) for _ in range(256)]
    seconds = [f'{ms // 1000:02}.{ms % 1000:03}Z",' for ms in range(60_000)]
    bits = chance.getrandbits
    total_ms = (LAST - FIRST) // timedelta(milliseconds=1)
    edges = [(edge - FIRST) // timedelta(milliseconds=1) for edge in WINDOW]
    every = max(1, count // LONG_CALLS)
    minute, head = -1, ""
    for begin in range(0, count, CHUNK):
        lines, affected = [], 0
        for i in range(begin, min(begin + CHUNK, count)):
            at = i * total_ms // count
            if at // 60_000 != minute:
                minute = at // 60_000
                head = f'","cached":false,"created_at":"{FIRST + timedelta(minutes=minute):%Y-%m-%dT%H:%M}:'
            ending = endings[(i * 2_654_435_761 >> 7) & (POOL - 1)]
            # A stamp may be an end: within an hour of an edge a call could be on either side, so none is long there.
            if i % every == every // 2 and all(abs(at - edge) > 3_600_000 for edge in edges):
                ending = long[i & 255]
                affected += edges[0] < at < edges[1]
            lines.append(f'{{"id":"01M{i:09}{bits(56):014X}{head}{seconds[at % 60_000]}{ending}')
        yield "".join(lines).encode(), affected


def write(target: Path, count: int, forms: tuple[str, ...] = ("plain", "gz", "zst")) -> Truth:
    """Write `target`, `target.gz`, `target.zst` as asked for, and `target.truth.json`; the lines are made once."""
    sinks: list[tuple[Callable[[bytes], bytes], Callable[[], bytes], Path]] = []
    if "plain" in forms:
        sinks.append((lambda data: data, lambda: b"", target))
    if "gz" in forms:
        packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, 31)
        sinks.append((packer.compress, packer.flush, target.with_name(target.name + ".gz")))
    if "zst" in forms:
        import zstandard

        frame = zstandard.ZstdCompressor(level=3).compressobj()
        sinks.append((frame.compress, frame.flush, target.with_name(target.name + ".zst")))
    size = affected = 0
    files = [path.open("wb", buffering=1 << 20) for _, _, path in sinks]
    for data, hits in chunks(count):
        size, affected = size + len(data), affected + hits
        for file, (pack, _, _) in zip(files, sinks, strict=True):
            file.write(pack(data))
    for file, (_, end, _) in zip(files, sinks, strict=True):
        file.write(end())
        file.close()
    truth = Truth(count, size, affected)
    target.with_name(target.name + ".truth.json").write_text(json.dumps(asdict(truth)) + "\n")
    return truth


def main() -> None:
    """`generate.py FILE LINES [--forms plain,gz,zst]`."""
    parser = argparse.ArgumentParser(description="Write gateway-shaped logs for the benchmark.")
    parser.add_argument("file", type=Path)
    parser.add_argument("lines", type=int)
    parser.add_argument("--forms", default="plain,gz,zst")
    given = parser.parse_args()
    print(write(given.file, given.lines, tuple(given.forms.split(","))))


if __name__ == "__main__":
    main()
