"""What may be replaced, what is covered by the hashes, and places where nothing can be written."""

import json
import os

import pytest

from driftfit.app import load_run, save_run, summarise
from driftfit.app.folder import check_target, put_file, read_result, rebuild_pages, write_predictions
from driftfit.cli import main
from driftfit.errors import InputError


@pytest.fixture(scope="module")
def summary(small_result):
    return summarise(small_result)


@pytest.fixture
def run(small_result, summary, tmp_path):
    return save_run(small_result, summary, tmp_path / "RUN", page=lambda _: "<p>page")


def test_force_replaces_no_folder_of_others(tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "manifest.json").write_text('{"name": "an extension for a browser"}')
    (own / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"is not a run that driftfit wrote.*it is not replaced; move it away"):
        check_target(own, force=True)
    assert (own / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("name", ["notes.txt", "sub"])
def test_force_replaces_no_run_with_something_of_others_in_it(run, name):
    (run / name).mkdir() if name == "sub" else (run / name).write_text("mine")
    with pytest.raises(InputError, match=f"holds '{name}', which driftfit did not write"):
        check_target(run, force=True)


@pytest.mark.parametrize("name", ["result.json", "predictions.parquet", "MODEL_CARD.md", "report.html", "model.skops"])
def test_force_replaces_no_run_that_was_changed(run, name):
    with (run / name).open("ab") as file:
        file.write(b"a remark")
    with pytest.raises(InputError, match=rf"{name}.* was changed"):
        check_target(run, force=True)


def test_an_unchanged_run_is_replaced_exports_and_new_pages_included(run, small_result, summary):
    rebuild_pages(run, "<p>again")
    put_file(run, "export.skops", b"model")
    check_target(run, force=True)
    save_run(small_result, summary, run, page=lambda _: "<p>new", force=True)
    assert not (run / "export.skops").exists()
    assert load_run(run).summary["kept"] == summary["kept"]


def test_card_and_report_are_covered_and_can_be_built_again(run):
    covered = json.loads((run / "manifest.json").read_text())["sha256"]
    assert sorted([*covered, "manifest.json"]) == sorted(path.name for path in run.iterdir())
    (run / "report.html").write_text("<p>all is well")
    with pytest.raises(InputError, match="driftfit report builds it again"):
        load_run(run)
    assert read_result(run)
    rebuild_pages(run, "<p>page")
    load_run(run)
    # Who does not want the pages may remove them.
    (run / "report.html").unlink()
    (run / "MODEL_CARD.md").unlink()
    load_run(run)


@pytest.mark.parametrize("value", [99, 0, None, "1", [1]])
def test_a_manifest_of_another_format_is_refused(run, value):
    content = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**content, "format": value}))
    with pytest.raises(InputError, match="was written in format"):
        load_run(run)
    with pytest.raises(InputError, match="was written in format"):
        check_target(run, force=True)


def test_model_files_of_equal_runs_are_equal(run, small_table, small_result, tmp_path):
    from driftfit.app import adapt_frame

    again = adapt_frame(small_table, small_result.checked.settings)
    second = save_run(again, summarise(again), tmp_path / "SECOND")
    for name in ("model.skops", "columns.json", "predictions.parquet"):
        assert (run / name).read_bytes() == (second / name).read_bytes()


def places(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")


@pytest.mark.parametrize("name", ["file", "link", "loop", "x" * 300, "file/RUN", "pipe.csv"])
@pytest.mark.parametrize("force", [True, False])
def test_a_place_where_no_run_can_be(tmp_path, name, force):
    places(tmp_path)
    with pytest.raises(InputError, match=r"is a file|is a link|shorter name|choose another"):
        check_target(tmp_path / name, force)


@pytest.mark.parametrize("name", ["folder.csv", "pipe.csv", "x" * 300 + ".csv", "file/out.csv", "loop.csv"])
def test_a_place_where_no_predictions_can_be(tmp_path, small_result, name):
    places(tmp_path)
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    with pytest.raises(InputError, match=r"is a folder|is a pipe|shorter name|is a file|cannot write"):
        write_predictions(small_result.predictions, tmp_path / name)


def test_a_link_to_a_file_is_followed(tmp_path, small_result):
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_predictions(small_result.predictions, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("row,prediction")


def test_the_command_line_says_one_line_where_the_disk_is_full(tmp_path, small_result, run, capsys, monkeypatch):
    import errno

    from driftfit import files

    def full(*given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.DISK, "write", full)
    with pytest.raises(SystemExit) as left:
        main(["report", str(run)])
    said = capsys.readouterr().err
    assert left.value.code == 1
    assert "No space left on device); make room" in said
    assert "unexpected" not in said
    assert said.count("\n") == 1


def test_a_result_without_its_parts_is_one_line(run, capsys):
    from driftfit.app.folder import write_manifest
    from driftfit.files import write_json

    names = json.loads((run / "manifest.json").read_text())["sha256"]
    for content in ({}, {"verdict": 3}, {"verdict": {"decision": []}, "domains": None}):
        write_json(run / "result.json", content)
        write_manifest(run, [run / name for name in names])
        with pytest.raises(SystemExit) as left:
            main(["report", str(run)])
        said = capsys.readouterr().err
        assert left.value.code == 1
        assert "lacks what a report is made from" in said
        assert said.count("\n") == 1


def test_a_lack_of_memory_is_one_line(run, capsys, monkeypatch):
    from driftfit import files

    def no_memory(*given):
        raise MemoryError

    monkeypatch.setattr(files.DISK, "write", no_memory)
    with pytest.raises(SystemExit):
        main(["report", str(run)])
    said = capsys.readouterr().err
    assert "the memory is full" in said
    assert said.count("\n") == 1
