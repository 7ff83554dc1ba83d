"""`gradapt demo`: the main job on data that needs no download."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from gradapt.paper.demo import DemoRun

__all__ = ["demo"]


def demo(
    path: Annotated[
        list[str] | None, typer.Option("--path", help="digits, moons or gaussians; may be repeated. [digits and moons]")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Number of repetitions with different seeds.")] = 3,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the picture and the numbers.")] = Path("demo"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON instead of tables.")] = False,
) -> None:
    """Adapt classifiers to rotated digits and turning moons, and compare.

    The classifier has labels for the source only. Every method sees the same unlabelled
    snapshots; accuracies are on held-out target samples. Takes about half a minute.
    """
    from gradapt.files import write_json
    from gradapt.paper.demo import count_runs, run_demo

    scenes = tuple(path) if path else ("digits", "moons")
    runs: list[DemoRun] = []
    with _progress(count_runs(scenes, seeds)) as advance:
        for run in run_demo(scenes, tuple(range(seeds))):
            runs.append(run)
            advance(f"{run.scene.name}, seed {run.seed}: {run.method} {100 * run.accuracy:.1f} %")
    picture = out / "path.png"
    _draw(runs, picture)
    summary = _summary(runs)
    write_json(out / "result.json", summary)
    if as_json:
        print(json.dumps(summary, indent=2))
    else:
        _print_tables(summary, picture)


def _progress(total: int) -> Any:
    """A progress bar on stderr, as a context that gives a function to advance it."""
    from contextlib import contextmanager

    @contextmanager
    def bar() -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("starting", total=total)
            yield lambda text: progress.update(task, advance=1, description=text)

    return bar()


def _summary(runs: list[DemoRun]) -> dict[str, Any]:
    from gradapt import __version__

    scenes: dict[str, Any] = {}
    for run in runs:
        scene = scenes.setdefault(run.scene.name, {"title": run.scene.title, "methods": {}})
        method = scene["methods"].setdefault(run.method, {"accuracies": [], "seconds": 0.0})
        method["accuracies"].append(run.accuracy)
        method["seconds"] += run.seconds
    return {"version": __version__, "accuracy": "held-out target samples, one value per seed", "paths": scenes}


def _print_tables(summary: dict[str, Any], picture: Path) -> None:
    import statistics

    from rich.console import Console
    from rich.table import Table

    console = Console()
    for scene in summary["paths"].values():
        table = Table(title=scene["title"], title_justify="left", title_style="bold")
        table.add_column("method", no_wrap=True)
        table.add_column("target accuracy", justify="right")
        table.add_column("range over seeds", justify="right")
        table.add_column("s per fit", justify="right")
        for name, method in scene["methods"].items():
            values = [100 * value for value in method["accuracies"]]
            seconds = method["seconds"] / len(values)
            table.add_row(
                name,
                f"{statistics.mean(values):.1f} %",
                f"{min(values):.1f} .. {max(values):.1f}",
                f"{seconds:.1f}" if seconds else "",
                style="bold" if name == "GOAT" else "",
            )
        console.print(table)
    console.print(
        "The oracle pairing knows which rotated image belongs to which; it is a ceiling, not a method.", style="dim"
    )
    console.print(f"Picture: {picture}   Numbers: {picture.with_name('result.json')}", soft_wrap=True)


def _draw(runs: list[DemoRun], target: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from gradapt.report.pictures import accuracy_bars, save

    names = list(dict.fromkeys(run.scene.name for run in runs))
    figure = plt.figure(figsize=(11, 4.9 * len(names)), layout="constrained")
    for part, name in zip(figure.subfigures(len(names), 1, squeeze=False).ravel(), names, strict=True):
        own = [run for run in runs if run.scene.name == name]
        part.suptitle(own[0].scene.title, fontsize=12, fontweight="bold")
        top, bottom = part.subfigures(2, 1, height_ratios=(1, 1))
        _draw_path(top, next(run for run in own if run.method == "GOAT"))
        accuracies: dict[str, list[float]] = {}
        for run in own:
            accuracies.setdefault(run.method, []).append(run.accuracy)
        accuracy_bars(bottom.subplots(), accuracies, "")
    save(figure, target)


def _draw_path(figure: Any, run: DemoRun) -> None:
    from gradapt.report.pictures import cloud_row, image_rows

    if run.scene.name == "digits":
        from gradapt.datasets.toy import DIGIT_SHAPE

        image_rows(figure.subplots(), run.sequence, run.scene.n_generated, DIGIT_SHAPE)
    else:
        cloud_row(figure.subplots(1, 7, sharex=True, sharey=True), run.sequence, run.classifier, run.scene.n_generated)
