"""What do a compose file, a pod spec, an `env` dump or a launch command say about an engine's surroundings?

Some switches are environment variables that no log line shows. The file is scanned as text, section by section (a compose
service, a YAML document, a described pod), never evaluated; only variables and options named here are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct, field

from kvforensics.engine.proof import Proof
from kvforensics.engine.version import Version, named_version
from kvforensics.errors import UsageError

LARGEST = 64 << 20
RELEASE = "SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE"
BATCH = "SGLANG_MOONCAKE_MAX_TRANSFER_BATCH_INDICES"
VARIABLES = (
    RELEASE,
    f"{RELEASE}_TIMEOUT",
    BATCH,
    "SGLANG_LOG_REQUEST_EXCEEDED_MS",
    "SGLANG_DISAGGREGATION_WAITING_TIMEOUT",
)
OPTIONS = (
    "disaggregation-mode", "disaggregation-enable-kv-checksum", "kv-canary", "allow-auto-truncate",
    "disaggregation-transfer-backend",
)  # fmt: skip
_VARIABLE = re.compile(
    r"^[\s\-]*(?:export\s+|-e\s+|ENV\s+|Environment=)?[\"']?(SGLANG_[A-Z0-9_]+)[\"']?\s*[=:]\s*[\"']?([^\"'\s,#}]*)"
)
_INLINE = re.compile(r"(?:^|[\s\"'])(SGLANG_[A-Z0-9_]+)=([^\s\"']*)")
_NAMED = re.compile(r"[\"']?name[\"']?\s*:\s*[\"']?(SGLANG_[A-Z0-9_]+)[\"']?")
_VALUE = re.compile(r"[\"']?value[\"']?\s*:\s*[\"']?([^\"'\s,}]*)")
_OPTION = re.compile(r"--([a-z][a-z0-9-]+)(?:(?:=|\s+|[\"']\s*,\s*[\"'])([A-Za-z0-9_.:/-]+))?")
_ON = ("1", "true", "yes", "on")
_OFF = ("0", "false", "no", "off")
_SERVICE = re.compile(r"^(\s{1,8})([A-Za-z0-9][\w.\-]*):\s*(?:#.*)?$")
_DESCRIBED = re.compile(r"^Name:\s+(\S+)")
_META = re.compile(r"^\s*(?:[\"']?name[\"']?|container_name|hostname)\s*:\s*[\"']?([a-z0-9][\w.\-]*)[\"']?\s*,?$")


class Section(Struct):
    """What one part of a file says. A value of None is told in a way that cannot be read (a reference, a template)."""

    names: list[str] = field(default_factory=list)
    variables: dict[str, tuple[str | None, Proof]] = field(default_factory=dict)
    options: dict[str, tuple[str, Proof]] = field(default_factory=dict)
    version: Version | None = None

    @property
    def role(self) -> str | None:
        """The role that the launch options give."""
        found = self.options.get("disaggregation-mode")
        return found[0] if found and found[0] in ("prefill", "decode") else None


class Surroundings(Struct, frozen=True):
    """All sections of all files; `glob` says which nodes a file speaks of, None for all."""

    files: tuple[tuple[str | None, tuple[Section, ...]], ...] = ()

    def of(self, node: str, role: str | None) -> tuple[Section, ...]:
        """The sections that speak of a node: by name, else by role, else those that name neither."""
        sections = [s for glob, found in self.files if glob is None or fnmatchcase(node, glob) for s in found]
        named = [s for s in sections if any(_same(node, name) for name in s.names)]
        if named:
            return tuple(named)
        by_role = [s for s in sections if role is not None and s.role == role]
        if by_role:
            return tuple(by_role)
        return tuple(s for s in sections if s.role is None)

    def version(self, node: str, role: str | None) -> Version | None:
        """The version that the evidence names for a node, None where it names none or several."""
        told = {s.version for s in self.of(node, role) if s.version is not None}
        return told.pop() if len(told) == 1 else None


NOWHERE = Surroundings()


def _same(node: str, name: str) -> bool:
    """Whether a container, pod or source name is that of a service: containers add a project and a number."""
    return len(name) > 2 and re.search(rf"(?:^|[/_.\-]){re.escape(name)}(?:$|[/_.\-])", node) is not None


def read_surroundings(choices: Sequence[tuple[str | None, str]]) -> Surroundings:
    """Read the files of `--env`, each with the glob of nodes that it speaks of.

    Raises `UsageError` for one that cannot be read.
    """
    files = []
    for glob, path in choices:
        try:
            with Path(path).open("rb") as file:
                data = file.read(LARGEST + 1)
        except OSError as error:
            raise UsageError(
                f"cannot be read: {error.strerror}", where=path, advice="check the path given to --env"
            ) from error
        if len(data) > LARGEST:
            raise UsageError("is too large for a description of an environment", where=path)
        files.append((glob, tuple(sections_of(data.decode("utf-8", "replace"), Path(path).name))))
    return Surroundings(tuple(files))


def sections_of(text: str, name: str) -> Iterator[Section]:
    """The sections of a file; one that names no switch still says that none is set in it."""
    lines = text.replace("\0", "\n").splitlines()
    for section, numbered in _cut(lines):
        _fill(section, numbered, name)
        yield section


def _cut(lines: Sequence[str]) -> Iterator[tuple[Section, list[tuple[int, str]]]]:
    services = next((i for i, line in enumerate(lines) if re.match(r"services:\s*(#.*)?$", line)), None)
    indent: str | None = None
    section, held = Section(), list[tuple[int, str]]()
    for number, line in enumerate(lines, 1):
        begins: list[str] | None = None
        if services is not None and number - 1 > services and (found := _SERVICE.match(line)):
            indent = indent or found[1]
            begins = [found[2]] if found[1] == indent else None
        elif line.rstrip() == "---":
            begins = []
        elif found := _DESCRIBED.match(line):
            begins = [found[1]]
        if begins is not None:
            if any(text.strip() for _, text in held):
                yield section, held
            section, held = Section(names=begins), []
        elif found := _META.match(line):
            section.names.append(found[1])
        held.append((number, line))
    if any(text.strip() for _, text in held):
        yield section, held


def _fill(section: Section, numbered: Sequence[tuple[int, str]], name: str) -> None:
    for place, (number, line) in enumerate(numbered):
        if line.lstrip().startswith("#"):
            continue
        if "SGLANG_" in line:
            if found := _NAMED.search(line):
                after = line[found.end() :] + "\n" + "\n".join(text for _, text in numbered[place + 1 : place + 3])
                value = _VALUE.search(after.split("name", 1)[0])
                _note(section.variables, found[1], value[1] if value else None, Proof(name, number, found[1]))
            elif found := _VARIABLE.match(line):
                _note(section.variables, found[1], found[2], Proof(name, number, f"{found[1]}={found[2]}"))
            else:
                for variable, value_text in _INLINE.findall(line):
                    _note(section.variables, variable, value_text, Proof(name, number, f"{variable}={value_text}"))
        for option in _OPTION.finditer(line):
            if option[1] in OPTIONS:
                follower = (
                    numbered[place + 1][1].strip(" -\"',") if option[2] is None and place + 1 < len(numbered) else ""
                )
                value_of = option[2] or (follower if re.fullmatch(r"[a-z]+", follower) else "")
                section.options[option[1]] = (
                    value_of or "true",
                    Proof(name, number, f"--{option[1]} {value_of}".strip()),
                )
        if section.version is None and "sglang" in line.lower():
            section.version = named_version(line)


def _note(variables: dict[str, tuple[str | None, Proof]], name: str, value: str | None, proof: Proof) -> None:
    if name in VARIABLES:
        readable = value if value is not None and not value.startswith("$") else None
        variables[name] = (readable, proof)


def setting(sections: Sequence[Section], name: str) -> tuple[bool, str | None, Proof | None]:
    """Whether a variable is set in the sections, its value (None where unreadable or contradictory), and where."""
    found = [s.variables[name] for s in sections if name in s.variables]
    if not found:
        return False, None, None
    values = {value for value, _ in found}
    return True, values.pop() if len(values) == 1 else None, found[0][1]


def truth(value: str | None) -> bool | None:
    """A switch as the engine reads it."""
    if value is None or value.lower() not in (*_ON, *_OFF):
        return None
    return value.lower() in _ON
