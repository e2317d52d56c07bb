"""How is a bag written, and is a bag that somebody handed over whole?

BagIt 1.0 (RFC 8493): payload under `data/`, SHA-512 and SHA-256 of every file, tag manifests over the manifests. Bags are
the same bytes every time: names sorted, no clock. On reading, names are followed only where this writer could have made
them, so that a bag cannot lead out of its folder, and nothing is fetched.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from kvforensics.errors import EvidenceError
from kvforensics.escape import terminal

ALGORITHMS = ("sha256", "sha512")
DECLARATION = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
SIGNED = "tagmanifest-sha512.txt"
"""The file that a signature or a time stamp is over: through the manifests it covers every file that is listed."""
_CHUNK = 1 << 20
_WIDTH = 79
NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._-]*/)*[A-Za-z0-9_][A-Za-z0-9._-]*")
"""What a file in a bag may be called, with its folders."""
_LINE = re.compile(r"(?P<digest>[0-9a-f]+)  (?P<name>[^\r\n]+)")
_MANIFESTS = tuple(f"manifest-{a}.txt" for a in ALGORITHMS)
_TAG_MANIFESTS = tuple(f"tagmanifest-{a}.txt" for a in ALGORITHMS)
_REQUIRED = ("bagit.txt", "bag-info.txt", *_MANIFESTS)


class Problem(Struct, frozen=True):
    """Something that is not as it should be: where, and what."""

    where: str
    what: str


class BagWriter:
    """Fills an empty folder. Add the payload, then close the bag."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._payload: dict[str, tuple[str, ...]] = {}
        self._octets = 0
        self._made: set[str] = set()

    def add(self, name: str, data: bytes) -> None:
        """A payload file; `name` is its place under `data/`, with slashes."""
        self._put(name, (data,))

    def add_file(self, name: str, source: Path | str) -> str:
        """A copy of a file as payload; its SHA-256. Raises `EvidenceError` where it is a link or cannot be read."""
        return self._put(name, _chunks(source))

    def _put(self, name: str, chunks: Iterable[bytes]) -> str:
        if not NAME.fullmatch(name):  # names are ours, never log content
            raise AssertionError(name)
        parent = name.rpartition("/")[0]
        if parent not in self._made:
            (self._folder / "data" / parent).mkdir(parents=True, exist_ok=True)
            self._made.add(parent)
        both = hashlib.sha256(), hashlib.sha512()
        # Bags of a hundred thousand small files are common, so the system is asked directly.
        number = os.open(f"{self._folder}/data/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            for chunk in chunks:
                for one in both:
                    one.update(chunk)
                self._octets += len(chunk)
                left = memoryview(chunk)
                while left:
                    left = left[os.write(number, left) :]
        finally:
            os.close(number)
        self._payload[f"data/{name}"] = tuple(h.hexdigest() for h in both)
        return both[0].hexdigest()

    def digests(self) -> Mapping[str, Mapping[str, str]]:
        """The digests of the payload so far, by name with `data/`."""
        return {name: dict(zip(ALGORITHMS, found, strict=True)) for name, found in sorted(self._payload.items())}

    def close(self, info: Sequence[tuple[str, str]], tags: Mapping[str, bytes]) -> None:
        """Write the tag files: `info` becomes `bag-info.txt`, `tags` are further files beside it."""
        oxum = ("Payload-Oxum", f"{self._octets}.{len(self._payload)}")
        files = {"bagit.txt": DECLARATION, "bag-info.txt": _info((*info, oxum)), **tags}
        for at, name in enumerate(_MANIFESTS):
            files[name] = _manifest({path: found[at] for path, found in self._payload.items()})
        for name, data in files.items():
            (self._folder / name).write_bytes(data)
        for algorithm, name in zip(ALGORITHMS, _TAG_MANIFESTS, strict=True):
            digests = {path: hashlib.new(algorithm, data).hexdigest() for path, data in files.items()}
            (self._folder / name).write_bytes(_manifest(digests))


def _manifest(digests: Mapping[str, str]) -> bytes:
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())).encode()


def _info(pairs: Iterable[tuple[str, str]]) -> bytes:
    lines: list[str] = []
    for label, value in pairs:
        # A blank inside may be folded at; what is longer than a line without one stays whole.
        lines += textwrap.wrap(
            f"{label}: {terminal(value)}", _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
    return ("\n".join(lines) + "\n").encode()


def check_bag(folder: Path, unlisted: Sequence[str] = (), known: dict[str, str] | None = None) -> Iterator[Problem]:
    """What is wrong with a bag, the frame first, then the payload by name.

    `unlisted` are names that may lie beside the tag files without being in a tag manifest. `known` takes the SHA-256 of every
    payload file, by name, for those who look further in.
    """
    present = _files(folder)
    wrong = [Problem(name, what) for name, what in present.items() if what]
    yield from wrong
    if wrong:  # what cannot be named cannot be opened either, and a link is not followed
        return
    if missing := [name for name in (*_REQUIRED, *_TAG_MANIFESTS) if name not in present]:
        yield Problem(missing[0], "is missing")
        return
    if (folder / "bagit.txt").read_bytes() != DECLARATION:
        yield Problem("bagit.txt", "does not declare a BagIt 1.0 bag in UTF-8")
    tags = sorted(n for n in present if not n.startswith("data/") and n not in {*_TAG_MANIFESTS, *unlisted})
    payload = sorted(n for n in present if n.startswith("data/"))
    yield from _compared(folder, _TAG_MANIFESTS, tags, {})
    yield from _compared(folder, _MANIFESTS, payload, {} if known is None else known)
    octets = sum((folder / n).stat().st_size for n in payload)
    if f"\nPayload-Oxum: {octets}.{len(payload)}\n".encode() not in b"\n" + (folder / "bag-info.txt").read_bytes():
        yield Problem("bag-info.txt", f"Payload-Oxum is not {octets}.{len(payload)}")


def _files(folder: Path) -> dict[str, str]:
    """Every file of the bag with what is wrong about it by itself, sorted by name."""
    found: dict[str, str] = {}
    waiting = [""]
    while waiting:
        place = waiting.pop()
        with os.scandir(folder / place) as entries:
            for entry in entries:
                name = f"{place}{entry.name}"
                if entry.is_symlink():
                    found[terminal(name)] = "is a link, and a bag holds none"
                elif entry.is_file():
                    found[terminal(name)] = "" if NAME.fullmatch(name) else "has a name that no bag of this tool holds"
                elif entry.is_dir():
                    waiting.append(f"{name}/")
                else:
                    found[terminal(name)] = "is neither a file nor a folder"
    return dict(sorted(found.items()))


def _compared(
    folder: Path, manifests: Sequence[str], names: Sequence[str], known: dict[str, str]
) -> Iterator[Problem]:
    """Differences between manifests and the files that they should list, by manifest line and then by name."""
    listed: list[dict[str, str]] = []
    for manifest in manifests:
        digests: dict[str, str] = {}
        for number, line in enumerate((folder / manifest).read_bytes().decode("utf-8", "replace").split("\n"), 1):
            entry = _LINE.fullmatch(line)
            if entry is None or not NAME.fullmatch(entry["name"]) or entry["name"] in digests:
                if line or not digests:
                    yield Problem(f"{manifest}:{number}", "is no line of a manifest")
                continue
            digests[entry["name"]] = entry["digest"]
        if digests and _manifest(digests) != (folder / manifest).read_bytes():
            yield Problem(manifest, "is not sorted as this tool sorts it, or has other blanks or line ends")
        for name in sorted(set(digests) ^ set(names)):
            yield Problem(name, f"is listed in {manifest} but missing" if name in digests else f"is not in {manifest}")
        listed.append(digests)
    for name in names:
        both = hashlib.sha256(), hashlib.sha512()
        for chunk in _chunks(f"{folder}/{name}"):
            for one in both:
                one.update(chunk)
        known[name] = both[0].hexdigest()
        for at, one in enumerate(both):
            if listed[at].get(name) not in {None, one.hexdigest()}:
                yield Problem(name, f"differs from its digest in {manifests[at]}")


def _chunks(path: Path | str) -> Iterator[bytes]:
    """The bytes of a file. Raises `EvidenceError` where it is a link, which is not followed, or cannot be read."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        what = "is a link" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}"
        raise EvidenceError(what, where=Path(path).name) from error
    try:
        while chunk := os.read(number, _CHUNK):
            yield chunk
    finally:
        os.close(number)
