"""Arguments and the sources they name."""

from __future__ import annotations

import os
import pickle
import socket
import zipfile
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from kvforensics.decompress import open_stream
from kvforensics.errors import UsageError
from kvforensics.source import Source, find_sources


def names(*args: Path | str) -> list[str]:
    return [s.name for s in find_sources([str(a) for a in args])]


def tree(root: Path, *files: str) -> Path:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return root


def test_a_folder_is_walked_in_byte_order_under_its_own_last_name(tmp_path: Path) -> None:
    root = tree(tmp_path / "logs", "b/z", "B", "a.b", "a/x", "é", "a b")
    assert names(root) == ["logs/B", "logs/a b", "logs/a.b", "logs/a/x", "logs/b/z", "logs/é"]
    assert names(f"{root}/") == names(root)


def test_a_file_is_labelled_by_its_last_name(tmp_path: Path) -> None:
    [source] = find_sources([str(tree(tmp_path, "in/a.jsonl") / "in/a.jsonl")])
    assert source == Source("a.jsonl", tmp_path / "in/a.jsonl", 0, size=10)


def test_the_current_folder_is_labelled_by_its_real_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree(tmp_path / "case7", "sub/a"))
    assert names(".") == ["case7/sub/a"]
    monkeypatch.chdir(tmp_path / "case7/sub")
    assert names("..") == ["case7/sub/a"]


def test_arguments_of_one_name_get_numbers_and_stay_apart(tmp_path: Path) -> None:
    tree(tmp_path, "1/logs/a", "2/logs/a", "3/a")
    assert names(tmp_path / "1/logs", tmp_path / "2/logs") == ["logs/a", "logs#2/a"]
    assert names(tmp_path / "3/a", tmp_path / "1/logs/a", tmp_path / "3/a") == ["a", "#2/a", "#3/a"]


def test_standard_input_is_named_by_its_dash_and_only_once() -> None:
    assert find_sources(["-"]) == [Source("-", None, 0)]
    with pytest.raises(UsageError):
        find_sources(["-", "-"])


@pytest.mark.parametrize("make", [lambda p: p / "none", lambda p: (p / "empty").mkdir() or p / "empty"])
def test_a_missing_path_and_an_empty_folder_are_usage_errors(tmp_path: Path, make) -> None:
    with pytest.raises(UsageError) as caught:
        find_sources([str(make(tmp_path))])
    assert caught.value.exit_status == 2


def test_no_argument_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        find_sources([])


def test_what_is_no_regular_file_is_skipped_with_its_reason(tmp_path: Path) -> None:
    root = tree(tmp_path / "d", "a")
    os.mkfifo(root / "pipe")
    (root / "gone").symlink_to("nowhere")
    (root / "link").symlink_to("a")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "sock"))
        found = {s.name: s.skipped for s in find_sources([str(root)])}
    assert found == {"d/a": None, "d/gone": "dangling_symlink", "d/link": None, "d/pipe": "fifo", "d/sock": "socket"}
    assert find_sources(["/dev/null"])[0].skipped == "character_device"
    assert find_sources([str(root / "gone")])[0].skipped == "dangling_symlink"


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    root = tree(tmp_path / "d", "x/y/a")
    (root / "x/y/up").symlink_to("../..")
    (root / "also").symlink_to("x")
    found = {s.name: s.skipped for s in find_sources([str(root)])}
    assert found == {"d/x/y/a": None, "d/x/y/up": "already_read", "d/also": "already_read"}


def test_a_folder_outside_is_read_through_a_link(tmp_path: Path) -> None:
    tree(tmp_path / "other", "a")
    (tmp_path / "d").mkdir()
    (tmp_path / "d/link").symlink_to("../other")
    assert names(tmp_path / "d") == ["d/link/a"]


def test_a_name_that_is_no_utf_8_becomes_a_label_that_can_be_stored(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    Path(os.fsdecode(os.fsencode(tmp_path / "d") + b"/a\xff")).write_text("x")
    [source] = find_sources([str(tmp_path / "d")])
    assert source.name == "d/a\\xff"
    assert open_stream(source).read() == b"x"


def test_the_members_of_a_zip_are_sources_in_byte_order(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("z.jsonl", "z")
        archive.mkdir("folder")
        archive.writestr("folder/b.jsonl", "first")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("folder/b.jsonl", "second")
    found = find_sources([str(path)])
    assert [s.name for s in found] == ["a.zip!folder/b.jsonl", "a.zip!folder/b.jsonl#2", "a.zip!z.jsonl"]
    assert [open_stream(s).read() for s in found] == [b"first", b"second", b"z"]


def test_a_zip_without_members_or_with_a_broken_directory_stays_one_source(tmp_path: Path) -> None:
    empty, broken = tmp_path / "e.zip", tmp_path / "b.zip"
    zipfile.ZipFile(empty, "w").close()
    broken.write_bytes(b"PK\x03\x04 and nothing more")
    assert names(empty, broken) == ["e.zip", "b.zip"]
    with open_stream(find_sources([str(broken)])[0]) as stream:
        assert stream.read() == b""
        assert stream.problem == "unsupported: zip without a readable directory"


def test_object_storage_is_listed_and_read_like_a_folder(tmp_path: Path) -> None:
    store = LocalFileSystem()
    tree(tmp_path / "bucket/logs", "b/2", "a")
    found = find_sources([f"s3://{tmp_path}/bucket/logs/"], store)
    assert [(s.name, s.size) for s in found] == [("logs/a", 1), ("logs/b/2", 3)]
    with open_stream(found[1], filesystem=store) as stream:
        assert (stream.read(), stream.problem) == (b"b/2", None)
    assert [s.name for s in find_sources([f"s3://{tmp_path}/bucket/logs/a"], store)] == ["a"]
    with pytest.raises(UsageError):
        find_sources([f"s3://{tmp_path}/bucket/none"], store)


def test_a_source_can_be_sent_to_another_process(tmp_path: Path) -> None:
    [source] = find_sources([str(tree(tmp_path, "a") / "a")])
    assert pickle.loads(pickle.dumps(source)) == source  # noqa: S301 - our own bytes


def test_a_link_that_leads_back_to_itself_is_listed_as_skipped(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(b"{}\n")
    (folder / "loop").symlink_to("loop")
    found = find_sources([str(folder)])
    assert [(s.name, s.skipped) for s in found] == [("logs/a.jsonl", None), ("logs/loop", "unreadable")]
