"""Data files: found, checked, and a message that helps where they are missing or damaged."""

import gzip
import hashlib
import sys
from pathlib import Path

import pytest

from driftfit.datasets import covtype, file_states, mnist, portraits, rotated_mnist
from driftfit.datasets.common import SUMS_NAME, DataFile, cache_folder, read_bytes
from driftfit.errors import InputError

CONTENT = b"one line of content\n" * 50
FILE = DataFile(
    "part/file.gz", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT), url="https://example.invalid/file.gz"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DRIFTFIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("DRIFTFIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DRIFTFIT_OFFLINE", "1")
    (tmp_path / "data" / "part").mkdir(parents=True)
    return tmp_path


def test_whole_file_is_read_whatever_its_gzip_header(folder):
    for stamp in (0, 1_000_000):
        (folder / "data/part/file.gz").write_bytes(gzip.compress(CONTENT, mtime=stamp))
        assert read_bytes(FILE) == CONTENT


def test_cache_is_searched_after_the_named_folder(folder):
    (folder / "cache/part").mkdir(parents=True)
    (folder / "cache/part/file.gz").write_bytes(gzip.compress(CONTENT))
    assert read_bytes(FILE) == CONTENT


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(CONTENT)[:-20],
        gzip.compress(CONTENT + b"x"),
        gzip.compress(CONTENT.replace(b"one", b"two")),
        b"not a gzip file",
        b"",
    ],
    ids=["truncated", "longer", "changed", "no gzip", "empty"],
)
def test_damaged_files_are_detected(folder, content):
    (folder / "data/part/file.gz").write_bytes(content)
    with pytest.raises(InputError, match="damaged or truncated"):
        read_bytes(FILE)


def test_offline_error_says_what_to_fetch_and_where_to_put_it(folder):
    with pytest.raises(InputError) as caught:
        read_bytes(FILE)
    message = str(caught.value)
    assert FILE.url in message
    assert str(folder / "data/part/file.gz") in message
    assert str(folder / "cache/part/file.gz") in message


def test_failed_download_says_the_same(folder, monkeypatch):
    import pooch

    def no_network(*_, **__):
        raise OSError("no route")

    monkeypatch.delenv("DRIFTFIT_OFFLINE")
    monkeypatch.setattr(pooch, "retrieve", no_network)
    with pytest.raises(InputError, match=r"download failed: OSError: no route.*fetch https"):
        read_bytes(FILE)


def test_a_download_without_pooch_names_the_extra(folder, monkeypatch):
    monkeypatch.delenv("DRIFTFIT_OFFLINE")
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(InputError, match=r"pip install 'driftfit\[paper\]'\); fetch https"):
        read_bytes(FILE)


def test_the_cache_folder_is_named_with_and_without_pooch(monkeypatch):
    monkeypatch.delenv("DRIFTFIT_CACHE", raising=False)
    assert cache_folder().name == "driftfit"
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert cache_folder() == Path.home() / ".cache" / "driftfit"


def test_cover_type_without_pandas_names_the_extra(made_data, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"Cover Type needs pandas.*driftfit\[paper\]"):
        covtype()


def test_download_is_checked_and_a_damaged_one_removed(folder, monkeypatch):
    import pooch

    def serve(content):
        def retrieve(url, known_hash, fname, path, progressbar):
            path.mkdir(parents=True, exist_ok=True)
            (path / fname).write_bytes(content)
            return str(path / fname)

        return retrieve

    monkeypatch.delenv("DRIFTFIT_OFFLINE")
    monkeypatch.setattr(pooch, "retrieve", serve(gzip.compress(b"wrong")))
    with pytest.raises(InputError, match="damaged"):
        read_bytes(FILE)
    assert not (folder / "cache/part/file.gz").exists()
    monkeypatch.setattr(pooch, "retrieve", serve(gzip.compress(CONTENT)))
    assert read_bytes(FILE) == CONTENT


def test_own_sums_of_a_folder_take_precedence(folder):
    path = folder / "data/part/file.gz"
    path.write_bytes(gzip.compress(b"a user's own cut"))
    sums = folder / "data" / SUMS_NAME
    sums.write_text(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  part/file.gz\n")
    assert read_bytes(FILE) == b"a user's own cut"
    sums.write_text(f"{'0' * 64}  part/file.gz\n")
    with pytest.raises(InputError, match=SUMS_NAME):
        read_bytes(FILE)


def test_states_of_files(made_data):
    assert {state.state for state in file_states("rotated-mnist", check=True)} == {"whole"}
    path = made_data / "covtype/covtype.data.gz"
    path.write_bytes(path.read_bytes()[:-1])
    assert [state.state for state in file_states("covtype", check=True)] == ["damaged"]
    path.unlink()
    assert [state.state for state in file_states("covtype")] == ["missing"]


@pytest.mark.parametrize(
    "name", ["mnist/t10k-images-idx3-ubyte.gz", "portraits/portraits_32x32.npz", "covtype/covtype.data.gz"]
)
def test_loaders_notice_a_truncated_file(made_data, name):
    load = {"mnist": lambda: mnist("test"), "portraits": portraits, "covtype": covtype}[name.split("/")[0]]
    load()
    path = made_data / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match="damaged"):
        load()


def test_unknown_words_are_refused(made_data):
    with pytest.raises(InputError, match="preset must be"):
        rotated_mnist(preset="papper")
    with pytest.raises(InputError, match="split must be"):
        rotated_mnist(split="test")
