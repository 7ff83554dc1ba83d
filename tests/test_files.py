import json

import pytest

from driftfit.errors import InputError
from driftfit.files import atomic_file, write_json


def test_a_failed_write_leaves_the_old_file_and_no_scraps(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")

    def fail_halfway():
        with atomic_file(target) as file:
            file.write(b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_halfway()
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_json_round_trip_makes_folders(tmp_path):
    write_json(tmp_path / "deep" / "x.json", {"a": [1, "é"]})
    assert json.loads((tmp_path / "deep" / "x.json").read_text()) == {"a": [1, "é"]}


def test_a_file_in_the_way_is_a_clear_error(tmp_path):
    (tmp_path / "block").write_text("")
    with pytest.raises(InputError, match="choose another folder"):
        write_json(tmp_path / "block" / "x.json", {})
