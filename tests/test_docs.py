"""Code and commands of README and the guides run, and the scripts that check the docs find what they are to find."""

import ast
import inspect
import json
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README, DOCS = ROOT / "README.md", ROOT / "docs"
NEW_METHOD = DOCS / "guide" / "new_method.md"
GUIDES = [DOCS / "quickstart.md", *sorted(set((DOCS / "guide").glob("*.md")) - {NEW_METHOD})]


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def commands(page):
    """Lines of the shell blocks that work on the made-up table, without their comments."""
    lines = [line.partition("#")[0].strip() for block in blocks(page, "sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("driftfit ") and "events.parquet" in line]


@pytest.mark.slow
def test_the_ten_lines_of_readme_run_and_gain(capsys):
    (block,) = blocks(README, "python")
    assert len([line for line in block.splitlines() if line]) <= 10
    exec(compile(block, str(README), "exec"), {})
    told = capsys.readouterr().out
    (quoted,) = blocks(README, "text")
    first, _, rest = quoted.partition("\n")
    assert told.startswith(first)
    # Lines of README are broken, those of the answer are not; the last one names the folder.
    assert " ".join(rest.split()).partition(" To be sure")[0] in " ".join(told.split())


@pytest.mark.slow
def test_the_commands_of_readme_run_one_after_the_other(tmp_path):
    table = "driftfit demo --table events.parquet"
    assert f"`{table}`" in README.read_text(encoding="utf-8")
    assert len(commands(README)) == 2
    for command in (table, *commands(README)):
        arguments = [sys.executable, "-m", *shlex.split(command)]
        done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        if " backtest " in command:
            assert "'mixture, rows in order' gained" in done.stdout
    assert (tmp_path / "run" / "report.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in GUIDES if blocks(page, "python")], ids=lambda page: page.stem)
def test_the_code_of_a_guide_runs_and_prints(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "driftfit demo --table events.parquet" in commands(page):
        for command in commands(page):
            subprocess.run([sys.executable, "-m", *shlex.split(command)], check=True, capture_output=True)
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), {"__name__": "guide"})
        assert capsys.readouterr().out


@pytest.fixture
def script(monkeypatch):
    """A script of the docs, which are no package, by its name."""
    monkeypatch.syspath_prepend(str(DOCS))
    yield import_module
    for name in [name for name, module in sys.modules.items() if str(DOCS) in str(getattr(module, "__file__", ""))]:
        del sys.modules[name]


@pytest.fixture
def new_method(tmp_path, monkeypatch):
    """The file of the guide on disk, and the folder that it stands in."""
    monkeypatch.chdir(tmp_path)
    text = NEW_METHOD.read_text(encoding="utf-8")
    (method, code), (grid,), (shell,) = (blocks(NEW_METHOD, language) for language in ("python", "yaml", "sh"))
    file, sweep = (re.search(rf"`([\w/]+\.{ending})`", text)[1] for ending in ("py", "yaml"))
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).write_text(method)
    (tmp_path / sweep).write_text(grid)
    assert len(method.splitlines()) < 80
    yield code, [line.partition("#")[0].strip() for line in shell.splitlines()]
    sys.modules.pop(f"driftfit.methods.{Path(file).stem}", None)


def test_a_new_method_is_one_file_and_then_everywhere(new_method, script, monkeypatch, capsys, tmp_path):
    from driftfit.cli import run_command
    from driftfit.methods import offered
    from driftfit.selection import history_ways, table_methods

    code, lines = new_method
    assert "one-look" not in offered()
    for line in lines:
        if line.startswith("export "):
            monkeypatch.setenv(*line.removeprefix("export ").split("="))
        elif line.endswith("--help"):
            with pytest.raises(SystemExit):
                run_command(shlex.split(line)[1:])
            assert "one-look: self-training on the newest window, once" in " ".join(capsys.readouterr().out.split())
        elif line.startswith("driftfit "):
            assert run_command(shlex.split(line)[1:]) == 0, line
        else:
            assert line == "python docs/tables.py"
            page = (DOCS / "methods_list.md").read_text(encoding="utf-8")
            assert "one-look" not in page
            made = script("tables").refreshed(page)
            assert "| `one-look` | `OneLook` | Self-training on the newest window, once. | path | backtests |" in made
    shown = capsys.readouterr().out
    assert json.loads((tmp_path / "run" / "result.json").read_text())["config"]["method"] == "one-look"
    assert len([line for line in shown.splitlines() if line.startswith("one look ")]) == 1
    assert "| one-look drop=0.0 |" in shown
    assert "| one-look drop=0.2 |" in shown
    exec(compile(code, str(NEW_METHOD), "exec"), {"__name__": "guide"})
    assert len(capsys.readouterr().out.splitlines()) == 2
    # What counts by itself keeps its place: the new one comes after it, and not where it did not ask to be.
    assert list(history_ways())[-1] == "one look"
    assert "one look" not in table_methods()
    monkeypatch.delenv("DRIFTFIT_METHODS")
    assert "one-look" not in offered()


def test_there_are_few_public_names_and_each_says_what_it_is():
    (packages,) = re.findall(r"PACKAGES = (\(.*?\n\))", (DOCS / "conf.py").read_text(encoding="utf-8"), re.DOTALL)
    public = {}
    for package in ast.literal_eval(packages):
        module = import_module(package)
        public |= {getattr(module, name): name for name in module.__all__ if name != "__version__"}
    assert 80 < len(public) <= 100
    assert all(map(inspect.getdoc, public))


def test_a_table_that_differs_from_its_record_is_made_anew(script):
    tables = script("tables")
    text = (DOCS / "peers.md").read_text(encoding="utf-8")
    assert tables.refreshed(text) == text
    assert tables.refreshed(text.replace("29.6 %", "39.6 %", 1)) == text


def test_a_figure_that_differs_from_its_record_is_named(script, tmp_path, monkeypatch):
    check, figures = script("check_figures"), script("figures")
    text = (DOCS / "peers.md").read_text(encoding="utf-8")
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(check, "ROOT", tmp_path)
    monkeypatch.setattr(check, "FIGURES", {"docs/peers.md": figures.peers})
    (tmp_path / "docs" / "peers.md").write_text(text, encoding="utf-8")
    assert check.differing() == []
    (tmp_path / "docs" / "peers.md").write_text(text.replace("69.4 % for skada", "79.4 % for skada"), encoding="utf-8")
    assert len(check.differing()) == 1


def test_links_and_names_that_lead_nowhere_are_named(script, tmp_path):
    check = script("check_pages")
    page = tmp_path / "a.md"
    page.write_text("`driftfit.methods.GOAT`, `SomeClassifier(1)`, `lab/nothing.py`, [a](b.md), [b](https://b.de).\n")
    assert list(check.links(page)) == ["links to b.md"]
    assert list(check.names(page)) == ["names SomeClassifier", "names the module lab/nothing"]
    script_text = "from driftfit.transport import Plan\nfrom driftfit.transport.plan import Plan\n"
    assert list(check.not_public(script_text)) == ["imports driftfit.transport.plan.Plan"]


def test_long_sentences_and_pages_are_named(script, tmp_path):
    check, page = script("check_pages"), tmp_path / "a.md"
    page.write_text(f"{'word ' * 40}end. It is `code` here.\n\n| {'cell ' * 50} |\n")
    assert list(check.unreadable(page)) == [f"has a sentence of 41 words: {('word ' * 12)} ..."]
    page.write_text("One two three. " * 301)
    assert list(check.unreadable(page)) == ["has 903 words"]


@pytest.mark.parametrize(
    ("mean", "interval", "higher"),
    [(80.0, 1.0, "LEVEL"), (84.9, 0.1, "OURS"), (84.9, 4.0, "LEVEL"), (60.0, 3.0, "PUBLISHED"), (60.0, None, "LEVEL")],
)
def test_who_is_higher_takes_both_intervals(script, mean, interval, higher):
    from driftfit.lab.cells import Cell, Place
    from driftfit.lab.statistics import Entry

    records = script("paper_records")
    place = Place("0", "GST", Cell("portraits", "reference", 0, 0, "gst"), (81.0, 2.0))
    entry = Entry(place, 5, {"transductive_last": mean}, {"transductive_last": interval}, 1.0)
    assert records.higher_of(entry) is records.Higher[higher]


def test_the_page_of_results_counts_goat_at_its_best_number_of_domains(script):
    page, records = script("results_page"), script("paper_records")
    text = page.results_page(records.read_records(ROOT / "results"), ROOT / "results")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    ends = {row[0]: row[-2:] for row in rows if ", table " in row[0]}
    # Portraits: published 76.8 and 79.9 with three generated domains lie over GST beyond both intervals.
    assert ends["Portraits, table 5"] == ["2 of 5", "0 of 5"]
    # Table 7 repeats tables 3 to 5, and so does what is counted of it.
    parts = [ends[f"{name}, table {n}"] for name, n in (("Color-Shift MNIST", 4), ("Portraits", 5))]
    parts.append(ends["Rotated MNIST, 45 degrees, table 3"])
    sums = [sum(int(cell.split()[0]) for cell in column) for column in zip(*parts, strict=True)]
    assert sums == [int(cell.split()[0]) for cell in ends["CoVi, table 7"]]
