"""The page of results and every marked figure are what the records say."""

import json
import shutil
from pathlib import Path

import pytest

from driftfit.cli import main
from driftfit.errors import InputError
from driftfit.lab.layouts import TABLES
from driftfit.lab.marks import unmarked
from driftfit.lab.overview import Higher, compared, digest_of, higher_of
from driftfit.lab.records import read_record, read_records
from driftfit.lab.regenerate import marked_pages, regenerate
from driftfit.lab.results_page import results_page, title_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path):
    """A copy of the pages and the results."""
    for path in [*marked_pages(ROOT), ROOT / "docs" / "results.md", *(ROOT / "results").glob("*.*")]:
        target = tmp_path / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    (tmp_path / "docs" / "images").mkdir()
    shutil.copy(ROOT / "docs" / "images" / "results-overview.png", tmp_path / "docs" / "images")
    return tmp_path


def test_every_page_is_what_the_records_say():
    """Where this fails, run `driftfit paper report` and look at the changes."""
    assert regenerate(ROOT, check=True) == []


@pytest.mark.parametrize("page", marked_pages(ROOT), ids=lambda page: str(page.relative_to(ROOT)))
def test_no_measured_number_of_a_table_is_without_a_mark(page):
    """Mark it, or write above its table where it comes from: <!-- not from results: why -->."""
    assert unmarked(page.read_text(encoding="utf-8")) == []


def test_a_changed_number_in_a_page_is_found_and_mended(checkout):
    page = checkout / "docs" / "peers.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("29.6 %", "39.6 %", 1), encoding="utf-8")
    assert regenerate(checkout, check=True) == [page]
    assert regenerate(checkout) == [page]
    assert page.read_text(encoding="utf-8") == text


def test_a_changed_number_in_a_record_is_found_in_every_page_that_shows_it(checkout):
    record = checkout / "results" / "rotated-mnist-reference.json"
    content = json.loads(record.read_text(encoding="utf-8"))
    place = next(row for row in content["table"] if row["method"] == "goat" and row["n_given"] == 4)
    place["means"]["transductive_last"] -= 30.0
    place["difference"] -= 30.0
    record.write_text(json.dumps(content), encoding="utf-8")
    changed = {path.name for path in regenerate(checkout, check=True)}
    assert changed == {"results.md", "results-overview.png"}
    before = (checkout / "docs" / "images" / "results-overview.png").read_bytes()
    regenerate(checkout)
    assert regenerate(checkout, check=True) == []
    assert (checkout / "docs" / "images" / "results-overview.png").read_bytes() != before
    remedies = checkout / "results" / "remedies.csv"
    header, first, *rest = remedies.read_text().splitlines()
    cells = first.split(",")
    cells[header.split(",").index("old")] = "40.0"
    remedies.write_text("\n".join([header, ",".join(cells), *rest]) + "\n")
    assert {path.name for path in regenerate(checkout, check=True)} == {"README.md", "remedies_measured.md"}


def test_the_command_checks_and_says_what_changed(checkout, capsys):
    (checkout / "docs" / "results.md").write_text("old\n")
    with pytest.raises(SystemExit) as left:
        main(["paper", "report", "--root", str(checkout), "--check"])
    assert left.value.code == 1
    assert "would change" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main(["paper", "report", "--root", str(checkout)])
    assert left.value.code == 0
    assert "results.md" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main(["paper", "report", "uda"])
    assert left.value.code == 2


def test_a_folder_without_records_is_refused(tmp_path):
    with pytest.raises(InputError, match="no record of a table"):
        regenerate(tmp_path)
    (tmp_path / "uda-reference.json").write_text("{}")
    with pytest.raises(InputError, match="is no record of a table"):
        read_records(tmp_path)


def cells(page, title):
    row = next(line for line in page.splitlines() if line.startswith(f"| {title}"))
    return row.strip("| ").split(" | ")


def test_goat_over_gst_takes_the_best_number_of_each_side():
    page = results_page(read_records(ROOT / "results"), ROOT / "results")
    # Portraits: published 76.8 and 79.9 with three generated domains lie over GST beyond both intervals.
    assert cells(page, "Portraits, table 5")[-2:] == ["2 of 5", "0 of 5"]
    # Table 7 repeats tables 3 to 5, and so does what is counted of it.
    counts = [
        [int(cell.split()[0]) for cell in cells(page, f"{title}, table {number}")[-2:]]
        for title, number in (("Rotated MNIST, 45 degrees", 3), ("Color-Shift MNIST", 4), ("Portraits", 5), ("CoVi", 7))
    ]
    assert [sum(column) for column in zip(*counts[:3], strict=True)] == counts[3]
    assert "In each, GOAT has its best number of generated domains, 1 to 4" in " ".join(page.split())


def test_a_gain_of_ours_is_seen_whatever_number_of_domains_has_it(checkout):
    record = checkout / "results" / "portraits-reference.json"
    content = json.loads(record.read_text(encoding="utf-8"))
    place = next(r for r in content["table"] if (r["method"], r["n_given"], r["n_generated"]) == ("goat", 4, 1))
    place["means"]["transductive_last"] = 99.0
    record.write_text(json.dumps(content), encoding="utf-8")
    page = results_page(read_records(checkout / "results"), checkout / "results")
    assert cells(page, "Portraits, table 5")[-1] == "1 of 5"


def test_how_much_was_run_with_the_other_preset_is_said_where_it_is_offered(capsys):
    records = [record for record in read_records(ROOT / "results") if record.preset == "paper"]
    assert len(records) == 4
    for record in records:
        assert len({entry.place.cell.n_given for entry in record.entries}) == 1
    page = results_page(records, ROOT / "results")
    assert page.count("1 of the table's 5 rows") == 4
    with pytest.raises(SystemExit):
        main(["paper", "--help"])
    assert "records of one row only of each of Tables 3 to 6" in " ".join(capsys.readouterr().out.split())
    assert "one row of each of tables 3 to 6" in (ROOT / "docs" / "guide" / "reproduce.md").read_text(encoding="utf-8")


def test_a_table_that_is_not_there_is_left_out(checkout):
    for path in (checkout / "results").glob("covi-reference.*"):
        path.unlink()
    page = results_page(read_records(checkout / "results"), checkout / "results")
    assert "| CoVi | - | - | - | - |" in page
    assert "CoVi, table 7" not in page


def test_records_hold_what_the_tables_show():
    record = read_record(ROOT / "results" / "rotated-mnist-reference.json")
    assert record.n_runs == len(record.entries) * record.n_seeds
    place = record.entries[-1].place
    assert (place.row, place.cell.method, place.cell.n_generated, place.published) == ("4", "goat", 4, (82.7, 1.8))
    assert title_of(record) == "Rotated MNIST, 45 degrees, table 3"
    assert {one.table.name for one in read_records(ROOT / "results")} <= set(TABLES)


@pytest.mark.parametrize(
    ("mean", "interval", "higher"),
    [
        (80.0, 1.0, Higher.LEVEL),
        (84.9, 0.1, Higher.OURS),
        (84.9, 4.0, Higher.LEVEL),
        (60.0, 3.0, Higher.PUBLISHED),
        (60.0, None, Higher.LEVEL),
    ],
)
def test_who_is_higher_takes_both_intervals(mean, interval, higher):
    from driftfit.lab import Cell, Entry, Place

    place = Place("0", "GST", Cell("portraits", "reference", 0, 0, "gst"), (81.0, 2.0))
    entry = Entry(place, 5, {"transductive_last": mean}, {"transductive_last": interval}, 1.0)
    assert higher_of(entry) is higher


def test_the_picture_bears_the_fingerprint_of_its_numbers():
    comparisons = [one for one in compared(read_records(ROOT / "results")) if one.record.preset == "reference"]
    picture = (ROOT / "docs" / "images" / "results-overview.png").read_bytes()
    assert digest_of(comparisons).encode() in picture
    assert digest_of(comparisons[1:]).encode() not in picture
