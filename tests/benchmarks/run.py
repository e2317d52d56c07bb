"""How long does a check take beside other tools that answer the same question, and how much memory?

One command: makes the data in every container, runs `kvforensics check` and DuckDB in turn, each in a fresh process, and
prints medians. Answers are compared with the truth, and the ledger with the lines that were written. Linux only (the
memory of a process tree is read from /proc).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import containers
import generate
import peers
from peers import Tool

PACKED = {"plain": "", "gz": ".gz", "zst": ".zst"}
EXPOSED, POSSIBLY = 10, 11
CHECK = (sys.executable, "-c", "from kvforensics.cli import main; main()", "check", "--json", "--no-progress")
SAMPLED = 0.02
"""Seconds between two looks at the memory. A run is watched or timed, as to look costs what the tool would have."""
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Run:
    """One process: seconds from start to end and of processors, the tree's largest resident memory in MiB, the answer."""

    seconds: float
    processor: float
    mebibytes: float
    affected: int | None


def check(form: str, workers: int) -> Tool:
    """kvforensics itself; its ledger has to add up."""
    asked = "possible" if form == "access" else "affected"

    def count(text: str) -> int:
        summary = json.loads(text)
        ledger = summary["ledger"]
        if ledger["lines"] != sum(ledger[key] for key in ("records", "rejected", "blank", "framing")):
            raise SystemExit(f"the ledger does not add up: {ledger}")
        return int(summary["responses"][asked])

    chosen = ("--workers", str(workers)) if workers else ()
    return Tool("kvforensics", lambda path: (*CHECK, *chosen, str(path)), count)


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


def _use(pid: int, spent: dict[int, int]) -> int:
    """Resident pages of the tree; notes the ticks that each process has spent.

    Pages that processes share count once for each, so this errs upwards.
    """
    pages = 0
    for one in _tree(pid):
        try:
            pages += int(Path(f"/proc/{one}/statm").read_text().split()[1])
            fields = Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        spent[one] = int(fields[11]) + int(fields[12])
    return pages


def measure(tool: Tool, path: Path, *, watched: bool) -> Run:
    """Run a tool once on a file; processor time and memory are those of a run that is `watched`."""
    began = time.perf_counter()
    process = subprocess.Popen(tool.command(path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    peak, spent, over = [0], dict[int, int](), threading.Event()

    def sample() -> None:
        while not over.wait(SAMPLED):
            peak[0] = max(peak[0], _use(process.pid, spent))

    watcher = threading.Thread(target=sample)
    if watched:
        watcher.start()
    out, complaint = process.communicate()
    seconds = time.perf_counter() - began
    over.set()
    if watched:
        watcher.join()
    if process.returncode not in {0, EXPOSED, POSSIBLY}:
        raise SystemExit(f"{tool.name} ended with {process.returncode} on {path.name}: {complaint.strip()[-400:]}")
    return Run(seconds, sum(spent.values()) / TICK, peak[0] * os.sysconf("SC_PAGE_SIZE") / 2**20, tool.count(out))


def _warm(path: Path) -> None:
    """Read a file, so that no tool has to wait for the disk where another one did not."""
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 24):
            pass


def compare(pairs: Sequence[tuple[Tool, Path]], repeats: int, truth: generate.Truth) -> list[list[Run]]:
    """Every pair, `repeats` times, in turn, and once more to be watched; wrong answers end the benchmark."""
    runs: list[list[Run]] = [[] for _ in pairs]
    for watched in (*[False] * repeats, True):
        for done, (tool, path) in zip(runs, pairs, strict=True):
            _warm(path)
            run = measure(tool, path, watched=watched)
            if run.affected is not None and run.affected != truth.affected:
                raise SystemExit(f"{tool.name} says {run.affected} of {path.name}, the truth is {truth.affected}")
            done.append(run)
    return [
        [replace(run, processor=used.processor, mebibytes=used.mebibytes) for run in done] for *done, used in runs
    ]


def median(runs: Sequence[Run]) -> float:
    """The median of the seconds."""
    return statistics.median(run.seconds for run in runs)


def processor(runs: Sequence[Run]) -> float:
    """The processor seconds, which are those of the run that was watched."""
    return runs[0].processor


def table(pairs: Sequence[tuple[Tool, Path]], runs: Sequence[Sequence[Run]], size: int) -> None:
    """A line for each pair, with its seconds and processor seconds by those of DuckDB: 3 is three times as much."""
    bases = [done for (tool, _), done in zip(pairs, runs, strict=True) if tool.name in peers.ASKED]
    for (tool, path), done in zip(pairs, runs, strict=True):
        seconds = [run.seconds for run in done]
        ratios = [f"{median(done) / median(base):7.2f} {processor(done) / max(processor(base), 0.01):7.2f}" for base in bases]
        answer = "right" if done[0].affected is not None else "another question"
        print(
            f"{path.name:<27} {tool.name:<16} {median(done):8.2f} {min(seconds):7.2f} {max(seconds):7.2f}"
            f" {processor(done):7.2f} {size / 1e6 / median(done):7.0f} {done[0].mebibytes:6.0f}"
            f" {' '.join(ratios)}  {answer}"
        )


def scale(folder: Path, lines: int, repeats: int, workers: int) -> None:
    """Four times the lines should take about four times the time, less the start, and no more memory."""
    done = []
    for factor in (1, 4):
        path, truth = data(folder, lines * factor, "plain")
        done.append(compare([(check("plain", workers), path)], repeats, truth)[0])
    small, large = done
    memory = [runs[0].mebibytes for runs in done]
    print(
        f"\n4x the lines: {median(large) / median(small):.2f}x the time ({median(small):.2f} s, {median(large):.2f} s),"
        f" {memory[1] / memory[0]:.2f}x the memory ({memory[0]:.0f} MiB, {memory[1]:.0f} MiB)"
    )


def data(folder: Path, lines: int, form: str) -> tuple[Path, generate.Truth]:
    """The file of a form and the truth; made unless it is there already."""
    plain = folder / f"gateway-{lines}.jsonl"
    packed = form in PACKED
    target = plain.with_name(plain.name + PACKED[form]) if packed else folder / containers.NAMES[form].format(lines)
    known = (plain if packed else target).with_name((plain if packed else target).name + ".truth.json")
    if not (known.exists() and target.exists()):
        generate.write(plain, lines, (form,)) if packed else containers.write(form, target, lines)
    return target, generate.Truth(**json.loads(known.read_text()))


def main() -> None:
    """Read the options, make the data, run, print."""
    parser = argparse.ArgumentParser(description="Time kvforensics beside other tools on the same question.")
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workers", type=int, default=0, help="processes for kvforensics, 0 for one a core")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the data here, and use what is there")
    parser.add_argument("--forms", default=",".join((*PACKED, *containers.NAMES)))
    parser.add_argument("--only-duckdb", action="store_true", help="leave the references other than DuckDB out")
    parser.add_argument("--scale", action="store_true", help="also four times the lines, for linearity and memory")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{os.cpu_count()} cores, {given.lines:,} lines, median of {given.repeats}, each run a fresh process\n")
        print(
            f"{'file':<27} {'tool':<16} {'seconds':>8} {'from':>7} {'to':>7} {'cpu s':>7} {'MB/s':>7} {'MiB':>6}"
            f" {'x count':>7} {'x cpu':>7} {'x acct':>7} {'x cpu':>7} {'x evid':>7} {'x cpu':>7}  answer"
        )
        for form in given.forms.split(","):
            path, truth = data(folder, given.lines, form)
            tools = [check(form, given.workers), *peers.databases(form)[: len(peers.ASKED) if given.only_duckdb else None]]
            # Packed files are asked of those two that matter only.
            tools += peers.references() if form == "plain" and not given.only_duckdb else []
            pairs = [(tool, path) for tool in tools]
            table(pairs, compare(pairs, given.repeats, truth), truth.bytes)
        if given.scale:
            scale(folder, given.lines, given.repeats, given.workers)


if __name__ == "__main__":
    main()
