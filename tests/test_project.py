"""Does the project keep its promises about itself: size, dependencies, commands, the wheel?"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from kvforensics import __version__

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SAMPLES = json.loads((ROOT / "sample_logs/expected.json").read_text())
LARGEST_FILE = 600_000
IMPORTED_AS: dict[str, str] = {}
DATA_ONLY = {"tzdata"}


FOR_DEVELOPERS = {"dev", "bench"}


def dependencies() -> list[str]:
    """What users install, also with an extra."""
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *(t for name in extras if name not in FOR_DEVELOPERS for t in extras[name])]
    return [re.split(r"[<>=!~ \[;]", text)[0] for text in wanted]


def test_no_file_of_the_project_is_large() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0")
    sizes = {name: (ROOT / name).stat().st_size for name in listed if name and (ROOT / name).is_file()}
    assert {name: size for name, size in sizes.items() if size > LARGEST_FILE} == {}


def test_the_changelog_says_why_each_runtime_dependency_is_one() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert [name for name in dependencies() if f"`{name}`: " not in changelog] == []


def test_the_changelog_has_a_section_for_this_version() -> None:
    assert f"## {__version__}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_every_runtime_dependency_is_imported_and_every_import_is_declared() -> None:
    imported = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
                imported.add(node.module.split(".")[0])
    declared = {IMPORTED_AS.get(name, name) for name in dependencies()} - DATA_ONLY
    assert imported - set(sys.stdlib_module_names) - {"kvforensics"} == declared


def test_the_lock_pins_every_dependency_and_names_no_place() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    pinned = set(re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE))
    wanted = [*PROJECT["dependencies"], *(t for extra in PROJECT["optional-dependencies"].values() for t in extra)]
    assert {re.split(r"[<>=!~ \[;]", text)[0] for text in wanted} <= pinned
    assert "://" not in lock
    assert "--index" not in lock


def test_the_manual_gives_one_command_that_sets_up_and_tests_and_one_that_ends_in_the_verdict() -> None:
    commands = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("python3 -m venv .venv && ")]
    tested, verdict = sorted(commands, key=lambda line: "'.[dev]'" not in line)
    assert "pip install -q -c requirements.lock '.[dev]' && " in tested
    assert tested.endswith("pytest -q")
    assert f".venv/bin/kvforensics check {' '.join(SAMPLES['customer']['arguments'])}" in verdict


def test_no_module_is_longer_than_300_lines() -> None:
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in SOURCES}
    assert {name: length for name, length in lengths.items() if length > 300} == {}


def test_a_module_says_first_what_question_it_answers() -> None:
    first = {
        path.relative_to(ROOT).as_posix(): (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n\n")[0]
        for path in SOURCES
    }
    assert [name for name, line in first.items() if "?" not in line and not name.endswith("__init__.py")] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [("-m", "ruff", "check"), ("-m", "mypy"), ("-c", "from importlinter.cli import lint_imports_command as c; c()")],
    ids=["ruff finds nothing", "mypy finds nothing", "evidence flows one way"],
)
def test_the_code_keeps_its_rules(command: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


THREADS = """
import os, kvforensics.piece
print(*(open(f"/proc/self/task/{t}/comm").read().strip() for t in os.listdir("/proc/self/task")), sep="\\n")
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the system does not list threads")
def test_what_workers_load_asks_polars_nothing_as_its_threads_do_not_outlive_a_fork() -> None:
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, check=True, text=True)
    names = done.stdout.splitlines()
    assert names
    assert [n for n in names if re.match(r"polars-\d|tokio", n)] == []


@pytest.mark.slow
def test_the_wheel_alone_checks_logs(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    done = subprocess.run(build, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    inside = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    expected = {f"kvforensics/queries/{path.name}" for path in (ROOT / "queries").glob("*.sql")}
    expected |= {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    expected |= {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.toml")}
    expected |= {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("templates/*")}
    assert expected | {"kvforensics/py.typed"} <= inside
    assert {name.split("/")[0] for name in inside} == {"kvforensics", f"kvforensics-{__version__}.dist-info"}
    shutil.copytree(ROOT / "sample_logs" / "customer", tmp_path / "logs")
    code = "import kvforensics, sys; print(kvforensics.__file__, file=sys.stderr); from kvforensics.cli import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", code, "check", "logs", "--timezone", "Europe/Amsterdam"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True, check=False, text=True,
    )  # fmt: skip
    assert run.returncode == 10, run.stderr
    assert str(site) in run.stderr
