"""Are bags what BagIt says, the same every time, and is a bad one noticed?"""

from __future__ import annotations

import logging
from pathlib import Path

import bagit
import pytest

from handed_over import files
from kvforensics.bag import BagWriter, Problem, check_bag


def made(folder: Path) -> Path:
    folder.mkdir()
    bag = BagWriter(folder)
    bag.add("b/two.txt", b"two\n")
    bag.add("a.txt", b"")
    (folder.parent / "given").write_bytes(b"three")
    bag.add_file("c.bin", folder.parent / "given")
    title = "A title that is long enough to be folded somewhere, with \x1b[31m and\nContact-Name: nobody"
    bag.close([("External-Description", title)], {"README.txt": b"read me\n"})
    return folder


def test_a_bag_is_valid_to_the_library_of_congress(tmp_path: Path) -> None:
    logging.getLogger("bagit").setLevel(logging.ERROR)
    bag = bagit.Bag(str(made(tmp_path / "bag")))
    assert bag.validate()
    assert bag.version_info == (1, 0)
    assert set(bag.algorithms) == {"sha256", "sha512"}
    assert "Contact-Name" not in bag.info
    assert bag.info["Payload-Oxum"] == "9.3"


def test_the_same_payload_makes_the_same_bag(tmp_path: Path) -> None:
    assert files(made(tmp_path / "one")) == files(made(tmp_path / "two"))


def test_nothing_is_wrong_with_a_bag_as_it_was_made(tmp_path: Path) -> None:
    assert list(check_bag(made(tmp_path / "bag"))) == []


def _link(bag: Path) -> None:
    (bag / "data/a.txt").unlink()
    (bag / "data/a.txt").symlink_to("/etc/passwd")


def _line(text: str) -> object:
    def add(bag: Path) -> None:
        for name in ("manifest-sha256.txt", "manifest-sha512.txt"):
            with (bag / name).open("a") as out:
                out.write(text)

    return add


@pytest.mark.parametrize(
    ("spoil", "where"),
    [
        (lambda bag: (bag / "data/a.txt").unlink(), "data/a.txt"),
        (lambda bag: (bag / "data/new.txt").write_bytes(b""), "data/new.txt"),
        (lambda bag: (bag / "extra.txt").write_bytes(b""), "extra.txt"),
        (lambda bag: (bag / "fetch.txt").write_bytes(b"http://example.com/x - data/x\n"), "fetch.txt"),
        (lambda bag: (bag / "data/\x1b[31m").write_bytes(b""), "data/\\x1b[31m"),
        (lambda bag: (bag / "manifest-sha256.txt").unlink(), "manifest-sha256.txt"),
        (lambda bag: (bag / "bagit.txt").write_bytes(b"BagIt-Version: 0.97\n"), "bagit.txt"),
        (_link, "data/a.txt"),
        (_line("0" * 64 + "  data/../../etc/passwd\n"), "manifest-sha256.txt:4"),
        (_line("0" * 64 + "  /etc/passwd\n"), "manifest-sha256.txt:4"),
        (_line("0" * 64 + "  ~root/x\n"), "manifest-sha256.txt:4"),
        (_line("0" * 64 + "  data/a.txt\n"), "manifest-sha256.txt:4"),
    ],
)
def test_what_is_wrong_with_a_bag_is_named_by_its_place(tmp_path: Path, spoil: object, where: str) -> None:
    bag = made(tmp_path / "bag")
    spoil(bag)
    assert where in {problem.where for problem in check_bag(bag)}


def test_a_file_may_grow_beside_the_tag_files_if_it_is_known_to(tmp_path: Path) -> None:
    bag = made(tmp_path / "bag")
    (bag / "custody.jsonl").write_bytes(b"{}\n")
    assert list(check_bag(bag, ("custody.jsonl",))) == []
    assert Problem("custody.jsonl", "is not in tagmanifest-sha256.txt") in list(check_bag(bag))
