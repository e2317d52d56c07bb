"""How long does a check take beside other tools that answer the same question, and how much memory?

One command: makes the data, runs `kvforensics check` and DuckDB's own JSON reader in turn, each in a fresh process, and
prints medians. Answers are compared with the truth, and the ledger with the lines that were written. Linux only (the
memory of a process tree is read from /proc).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import generate

FORMS = {"plain": "", "gz": ".gz", "zst": ".zst"}
EXPOSED = 10
CHECK = (sys.executable, "-c", "from kvforensics.cli import main; main()", "check", "--json", "--no-progress")
WHERE = (
    f"model = '{generate.MODEL}' AND tokens_in > {generate.OVER} AND status_code BETWEEN 200 AND 299 AND created_at"
    f" >= '{generate.WINDOW[0]:%Y-%m-%dT%H:%M:%SZ}' AND created_at < '{generate.WINDOW[1]:%Y-%m-%dT%H:%M:%SZ}'"
)
DUCKDB = (
    "import duckdb, sys; c = duckdb.connect(); c.execute(\"SET TimeZone = 'UTC'\");"
    ' c.execute("SET enable_progress_bar = false");'
    ' print(c.execute("SELECT count(*) FROM'
    " read_json($1, format = 'newline_delimited', columns = {created_at: 'TIMESTAMPTZ', model: 'VARCHAR',"
    f' status_code: \'INTEGER\', tokens_in: \'BIGINT\'}}) WHERE {WHERE}", [sys.argv[1]]).fetchone()[0])'
)
CHDB = (
    "import chdb, sys; f = sys.argv[1]; print(chdb.query(f\"SELECT count() FROM file('{f}', JSONEachRow, 'created_at String,"
    f" model String, status_code Int32, tokens_in Int64') WHERE {WHERE} SETTINGS"
    ' input_format_skip_unknown_fields = 1", "TSV"))'
)
JQ = (
    f'select(.model == "{generate.MODEL}" and .tokens_in > {generate.OVER} and .status_code >= 200 and .status_code < 300'
    f' and .created_at >= "{generate.WINDOW[0]:%Y-%m-%dT%H:%M:%S}" and .created_at < "{generate.WINDOW[1]:%Y-%m-%dT%H:%M:%S}")'
    " | .id"
)


@dataclass(frozen=True, slots=True)
class Run:
    """One process: seconds from start to end, the tree's largest resident memory in MiB, and what it answered."""

    seconds: float
    mebibytes: float
    affected: int | None


@dataclass(frozen=True, slots=True)
class Tool:
    """A command for a file, and how its output becomes a count (None: the tool answers another, easier question)."""

    name: str
    command: Callable[[Path], Sequence[str]]
    count: Callable[[str], int | None]


def _check(text: str) -> int:
    """The number of affected responses, once the ledger adds up."""
    summary = json.loads(text)
    ledger = summary["ledger"]
    if ledger["lines"] != sum(ledger[key] for key in ("records", "rejected", "blank", "framing")):
        raise SystemExit(f"the ledger does not add up: {ledger}")
    return int(summary["responses"]["affected"])


def tools() -> list[Tool]:
    """kvforensics first, then DuckDB, then whatever else is installed, for reference."""
    found = [
        Tool("kvforensics", lambda path: (*CHECK, str(path)), _check),
        Tool("duckdb read_json", lambda path: (sys.executable, "-c", DUCKDB, str(path)), int),
        Tool("wc -l", lambda path: ("wc", "-l", str(path)), lambda _: None),
    ]
    if shutil.which("rg"):
        found.append(Tool("rg -c MODEL", lambda path: ("rg", "-c", "-F", generate.MODEL, str(path)), lambda _: None))
    if find_spec("chdb"):
        found.append(Tool("chdb JSONEachRow", lambda path: (sys.executable, "-c", CHDB, str(path)), int))
    if shutil.which("jq"):
        found.append(Tool("jq", lambda path: ("jq", "-c", JQ, str(path)), lambda text: len(text.splitlines())))
    return found


def _tree(pid: int) -> Iterable[int]:
    """A process and those below it that are alive now."""
    pids = [pid]
    for parent in pids:
        try:
            for task in os.listdir(f"/proc/{parent}/task"):  # noqa: PTH208 - sampled often
                pids += map(int, Path(f"/proc/{parent}/task/{task}/children").read_text().split())
        except (OSError, ValueError):
            continue
    return pids


def _resident(pid: int) -> int:
    """Resident pages of the tree. Pages that processes share count once for each, so this errs upwards."""
    pages = 0
    for one in _tree(pid):
        try:
            pages += int(Path(f"/proc/{one}/statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
    return pages


def measure(tool: Tool, path: Path) -> Run:
    """Run a tool once on a file."""
    began = time.perf_counter()
    process = subprocess.Popen(tool.command(path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    peak, over = [0], threading.Event()

    def sample() -> None:
        while not over.wait(0.03):
            peak[0] = max(peak[0], _resident(process.pid))

    watcher = threading.Thread(target=sample)
    watcher.start()
    out, complaint = process.communicate()
    seconds = time.perf_counter() - began
    over.set()
    watcher.join()
    if process.returncode not in {0, EXPOSED}:
        raise SystemExit(f"{tool.name} ended with {process.returncode} on {path.name}: {complaint.strip()[-400:]}")
    return Run(seconds, peak[0] * os.sysconf("SC_PAGE_SIZE") / 2**20, tool.count(out))


def compare(pairs: Sequence[tuple[Tool, Path]], repeats: int, truth: generate.Truth) -> list[list[Run]]:
    """Every pair, `repeats` times, in turn; wrong answers end the benchmark."""
    runs: list[list[Run]] = [[] for _ in pairs]
    for _ in range(repeats):
        for done, (tool, path) in zip(runs, pairs, strict=True):
            run = measure(tool, path)
            if run.affected is not None and run.affected != truth.affected:
                raise SystemExit(f"{tool.name} says {run.affected} of {path.name}, the truth is {truth.affected}")
            done.append(run)
    return runs


def median(runs: Sequence[Run]) -> float:
    """The median of the seconds."""
    return statistics.median(run.seconds for run in runs)


def table(pairs: Sequence[tuple[Tool, Path]], runs: Sequence[Sequence[Run]], size: int) -> None:
    """A line for each pair. `ratio` is DuckDB's seconds on the same file over the tool's: above 1 is faster than DuckDB."""
    base = {path: median(r) for (tool, path), r in zip(pairs, runs, strict=True) if tool.name.startswith("duckdb")}
    print(f"{'file':<27} {'tool':<18} {'seconds':>8} {'from':>7} {'to':>7} {'MB/s':>7} {'MiB':>7} {'ratio':>6}  answer")
    for (tool, path), done in zip(pairs, runs, strict=True):
        seconds = [run.seconds for run in done]
        ratio = f"{base[path] / median(done):6.2f}" if path in base else " " * 6
        answer = "right" if done[0].affected is not None else "another question"
        print(
            f"{path.name:<27} {tool.name:<18} {median(done):8.2f} {min(seconds):7.2f} {max(seconds):7.2f}"
            f" {size / 1e6 / median(done):7.0f} {max(run.mebibytes for run in done):7.0f} {ratio}  {answer}"
        )


def scale(folder: Path, lines: int, repeats: int) -> None:
    """Four times the lines should take about four times the time, less the start, and no more memory."""
    check = tools()[0]
    done = []
    for factor in (1, 4):
        path, truth = data(folder, lines * factor, ("plain",))
        done.append(compare([(check, path)], repeats, truth)[0])
    small, large = done
    memory = [max(run.mebibytes for run in runs) for runs in done]
    print(
        f"\n4x the lines: {median(large) / median(small):.2f}x the time ({median(small):.2f} s, {median(large):.2f} s),"
        f" {memory[1] / memory[0]:.2f}x the memory ({memory[0]:.0f} MiB, {memory[1]:.0f} MiB)"
    )


def data(folder: Path, lines: int, forms: tuple[str, ...]) -> tuple[Path, generate.Truth]:
    """The plain file's path and the truth; made unless it is there already."""
    target = folder / f"gateway-{lines}.jsonl"
    known = target.with_name(target.name + ".truth.json")
    if known.exists() and all(target.with_name(target.name + FORMS[form]).exists() for form in forms):
        return target, generate.Truth(**json.loads(known.read_text()))
    began = time.perf_counter()
    truth = generate.write(target, lines, forms)
    print(f"made {lines:,} lines, {truth.bytes:,} bytes, {truth.affected} affected, in {time.perf_counter() - began:.0f} s")
    return target, truth


def main() -> None:
    """Read the options, make the data, run, print."""
    parser = argparse.ArgumentParser(description="Time kvforensics beside other tools on the same question.")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the data here, and use what is there")
    parser.add_argument("--forms", default="plain,gz,zst")
    parser.add_argument("--only-duckdb", action="store_true", help="leave the slower references out")
    parser.add_argument("--scale", action="store_true", help="also four times the lines, for linearity and memory")
    given = parser.parse_args()
    forms = tuple(given.forms.split(","))
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        target, truth = data(folder, given.lines, forms)
        chosen = tools()[:2] if given.only_duckdb else tools()
        # The references read plain files; what packs a file costs the two that matter is asked of those two.
        pairs = [
            (tool, target.with_name(target.name + FORMS[form]))
            for form in forms
            for tool in (chosen if form == "plain" else chosen[:2])
        ]
        print(f"{os.cpu_count()} cores, {given.lines:,} lines, median of {given.repeats}, each run a fresh process\n")
        table(pairs, compare(pairs, given.repeats, truth), truth.bytes)
        if given.scale:
            scale(folder, given.lines, given.repeats)


if __name__ == "__main__":
    main()
