"""Do workers that were got ready early give the same answer, and is nothing copied that a copy may not use?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kvforensics import workers
from test_clashes import MODEL, OTHER, ROW

RUN = """
import sys
from kvforensics import workers
workers.PARALLEL_FROM = 1
made = workers.ProcessPoolExecutor
def told(count, mp_context, **more):
    print(mp_context.get_start_method(), file=sys.stderr)
    return made(count, mp_context=mp_context, **more)
workers.ProcessPoolExecutor = told
{first}
from kvforensics.cli import main
main()
"""


def run(path: Path, count: int, first: str = "") -> tuple[dict[str, Any], list[str]]:
    """The summary of a check, and how its workers were started."""
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(first=first), "check", "--json", "--no-progress", "--workers", str(count), str(path)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, timeout=120,
    )  # fmt: skip
    assert done.returncode in (10, 11, 12), done.stderr
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary, [line for line in done.stderr.splitlines() if line in ("fork", "forkserver", "spawn")]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs" / "inner"
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        rows = [{**ROW, "id": f"{name}{i}", "tokens_in": 700_000, "model": MODEL if i % 7 else OTHER} for i in range(50)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "logs"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no worker is a copy")
def test_workers_are_copies_where_nothing_ran_yet_and_answer_alike(logs: Path) -> None:
    alone, none = run(logs, 1)
    copied, by_copy = run(logs, 2)
    served, by_server = run(logs, 2, "import polars")
    assert (none, by_copy, by_server) == ([], ["fork"], ["forkserver"])
    assert alone == copied == served
    assert alone["responses"]["affected"] == 84


def test_nothing_is_got_ready_for_little_evidence_or_for_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    little = tmp_path / "little"
    little.write_bytes(b"x" * 100)
    monkeypatch.setattr(workers, "PARALLEL_FROM", 150)
    assert not workers._is_large([str(little), str(tmp_path / "none"), "s3://bucket/prefix", "-", "\0"])
    assert workers._is_large([str(little), str(little)])
    folder = tmp_path / "folder" / "inner"
    folder.mkdir(parents=True)
    for name in "ab":
        (folder / name).write_bytes(b"x" * 100)
    monkeypatch.setattr(workers, "PARALLEL_FROM", 150 + tmp_path.stat().st_size)
    assert workers._is_large([str(tmp_path)])
    monkeypatch.setattr(workers, "_MOST_FILES", 1)
    assert not workers._is_large([str(tmp_path)])


STOPPED = """
import signal, sys
from kvforensics.case import Case
def check(*_):
    try:
        signal.raise_signal(signal.{name})
    except BaseException:
        raise RuntimeError("Query interrupted")
Case.check = check
from kvforensics.cli import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
@pytest.mark.parametrize(("name", "status", "told"), [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated")])
def test_what_a_library_makes_of_a_signal_is_the_signal(tmp_path: Path, name: str, status: int, told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STOPPED.format(name=name), "check", str(tmp_path)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (status, f"kvforensics: {told}\n")


WAITING = """
import os, sys
from kvforensics import workers
if __name__ == "__main__":
    {first}
    pool = workers.pool(2)
    print(*{{pool.submit(os.getpid).result() for _ in range(8)}}, flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is killed there in this way")
@pytest.mark.parametrize("first", ["workers._is_large = lambda _: True; workers.get_ready(['x'], 2)", "import polars"])
def test_no_worker_outlives_a_main_process_that_is_killed(tmp_path: Path, first: str) -> None:
    script = tmp_path / "waiting.py"
    script.write_text(WAITING.format(first=first))
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ) as main:
        assert main.stdout is not None
        assert main.stdout.readline()
        main.kill()
        # It ends when the last process that has it open is gone.
        assert main.communicate(timeout=60)[0] == b""
