"""Figures in the prose of README and docs that come from records: what must stand in a page, by page.

Each function yields the words around a figure, with the figure as its record in `results/` has it now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from scipy.stats import gmean
from tables import ARTEFACT, paper_table, record, rows_of

Words = Iterator[str]
_RULE = "regret.carried and consensus labels, 90 % (the rule)"


def readme() -> Words:
    data = paper_table("frontier-reference")
    own = data[(data.row == "rotated-mnist, 0 given") & (data.column == "source only")].iloc[0]
    yield f"an old model reads {own.heldout_source:.1f} % of digits that were turned by 45°"
    yield f"finds {own.heldout_chosen:.1f} %"


def choice() -> Words:
    rows = rows_of("ranking.json")
    covtype, portraits = rows[rows.case == "covtype"], rows[rows.case == "portraits"]
    digits = rows[rows.case.isin(["rotated:45", "rotated:60", "rotated:45:2"])]
    measured = "information, measured"
    yield f"Over all {len(rows)} runs the mean regret is {(rows.best - rows.rule).mean():.1f} points for the rule, and "
    yield f"and {(rows.best - rows[measured]).mean():.1f} for `I` among measured columns"
    yield f"(`TV` and `J`) gains {(covtype.rule - covtype[measured]).mean():.1f} points on Cover Type"
    yield f"and loses {(portraits[measured] - portraits.rule).mean():.1f} on Portraits"
    n_covi = (covtype["information: chosen"] == "CoVi").sum()
    yield f"among all columns `I` takes CoVi in {n_covi} of {len(covtype)} runs"
    yield f"the accuracy is {(covtype[measured] - covtype.information).mean():.1f} points higher"
    yield f"has less than 60 % in {(digits.best < 60).sum()} of {len(digits)} runs"
    lost, lost_alone = portraits.best - portraits.rule, portraits.best - portraits.information
    yield f"loses {lost.mean():.1f} points to the best candidate, where `I` alone loses {lost_alone.mean():.1f}."


def frontier() -> Words:
    data = paper_table("frontier-reference")
    portraits, covtype = data[data.benchmark == "portraits"], data[data.benchmark == "covtype"]
    yield f"On Portraits the method would reach {portraits.heldout_structure.mean():.0f} %"
    carried = portraits[portraits.n_given > 0].heldout_carried.mean()
    yield f"carried labels reach {carried:.1f}."
    yield f"a model trained with target labels ({covtype.heldout_supervised.mean():.1f})"
    seconds = record("frontier-reference.json")["about"]["wall_seconds_all_tables_of_this_command"]
    yield f"runs it in {seconds:.0f} s"


def number_of_domains() -> Words:
    data, held_out = record("number_of_domains.json"), record("number_of_domains_held_out.json")
    design, evaluation = data["against_always_4"]["design"], data["against_always_4"]["evaluation"]
    yield (
        f"beats it by {-evaluation['mean']:.2f} points on average over the evaluation cases with a standard error of "
        f"{evaluation['standard error']:.2f} ({-design['mean']:.2f} with {design['standard error']:.2f} on the design"
    )
    first, other = data["rules"][0], held_out["rules"][0]
    yield (
        f"The mean regret is then {other['design']:.2f} instead of {first['design']:.2f} on the design cases and "
        f"{other['evaluation']:.2f} instead of {first['evaluation']:.2f} on the evaluation cases"
    )
    rows = rows_of("number_of_domains.json").set_index(["part", "case"])
    turned = rows.loc["design", "mnist:0:30"]
    yield (
        f"{turned['carried labels right']:.0f} % of the carried labels are right, the candidates reach "
        f"{turned['accuracy.1']:.0f} % with 1 domain and {turned['accuracy.4']:.0f} % with 4; the rule loses "
        f"{turned[_RULE]:.1f} points"
    )
    yield f"Moons turned by 35 degrees: {rows.loc[('evaluation', 'moons:0,35'), _RULE]:.1f}."
    skewed = rows.loc[("design", "skew:0,1.2"), _RULE], rows.loc[("evaluation", "skew:0,1.5"), _RULE]
    yield f"three times rarer (design): {skewed[0]:.1f} points, and {skewed[1]:.1f} on the evaluation case"
    tables = rows_of("own_tables.json").set_index("table")
    lost = tables["self-training"] - tables["GOAT, 8 generated"]
    yield f"eight domains lose {lost['electricity']:.1f} and {lost['forest cover']:.1f} points"
    selection = paper_table("selection-reference").set_index(["row", "column"])
    chosen = selection.xs("chosen", level="column")
    lost = chosen.transductive_best - chosen.transductive_last
    gains = chosen.transductive_last - selection.xs("always 4", level="column").transductive_last
    yield f"loses {lost.min():.1f} to {lost.max():.1f} points to the best number"
    yield f"gains {gains.min():.1f} to {gains.max():.1f} over always taking 4"


def peers() -> Words:
    rows = rows_of("skada.json")
    means = 100 * rows.groupby("base")[["accuracy.skada", "accuracy.driftfit"]].mean()
    for base in ("logistic", "mlp"):
        theirs, ours = means.loc[base]
        yield f"{theirs:.1f} % for skada and {ours:.1f} % for ours"
    lost = rows[(rows.data == "gaussians") & (rows.base == "mlp")].iloc[0]
    ours, theirs = 100 * lost["accuracy.driftfit"], 100 * lost["accuracy.skada"]
    yield f"on the moving Gaussians ({ours:.1f} against {theirs:.1f} %)"


def remedies_measured() -> Words:
    worlds = rows_of("drift_worlds.json")
    yield f"Of all {worlds['of'].sum()} diagnoses {worlds.right.sum()} are right"
    rows = rows_of("few_labels.json")
    mean = rows[rows.table != ARTEFACT].mean(numeric_only=True)
    yield f"is {mean.regret:.2f} points with chosen rows and {mean['regret of random']:.2f} with random ones"
    yield f"is found in {mean.found:.0f} % of the draws, and in {mean['found by random']:.0f} % with random rows"
    million = record("large_table_million.json").iloc[0]
    yield f"report in {million.adapt_seconds:.0f} s and {million.adapt_peak_gib:.2f} GiB"


def scale_measured() -> Words:
    data = record("launchers.json")
    busy, heavier = (data[f"the_same_{where}"]["engines"] for where in ("on_a_busy_machine", "under_heavier_load"))
    ray = busy["2 Ray workers"]
    yield (
        f"the start of two Ray workers took {ray['start_seconds']:.0f} s and their speed-up was {ray['speed_up']:.2f} "
        f"with the start, {ray['speed_up_once_started']:.2f} without."
    )
    ray = heavier["2 Ray workers"]
    yield (
        f"the start took {ray['start_seconds']:.0f} s, the overhead was {ray['overhead_ms_per_cell']:.0f} ms and the "
        f"speed-up {ray['speed_up']:.2f}."
    )
    yield f"Two processes had {busy['2 processes']['speed_up']:.2f} under the load of 8"
    paper, sweep = ({own["gpus"]: own for own in record("scale.json")["runs"][part]} for part in ("paper", "sweep"))
    yield f"on 64 GPUs after {paper[64]['wall_seconds'] / 60:.1f} minutes"
    yield f"that cell takes {paper[64]['longest_cell_seconds']:.0f} s"
    yield f"On 512 GPUs it is busy {100 * sweep[512]['driver_busy_share']:.0f} % of the time"
    yield f"64 GPUs fetch data for {sweep[64]['seconds_by_kind']['fetch']:.0f} s in all"


def transport_measured() -> Words:
    data, corpus, hostile = (record(f"transport{part}.json") for part in ("", "_corpus", "_hostile"))
    growth = {name: f"n^{data['cpu'][f'{name} exponent']:.1f}" for name in ("ours seconds", "pot seconds")}
    memory = {name: f"n^{data['cpu'][f'{name} exponent']:.1f}" for name in ("ours extra", "pot extra")}
    yield f"time {growth['ours seconds']} here, {growth['pot seconds']} for `ot.emd`"
    yield f"beyond the samples {memory['ours extra']} here, {memory['pot extra']} for `ot.emd`"
    difference = corpus["relative difference"]
    yield f"ours is at most {difference.max():.0e} higher"
    yield f"It is {-difference.min():.0e} lower"
    slow = corpus[corpus.emd2 > 0.2]
    large, middle, small = (slow[slow["size"] == size].ratio for size in (10_000, 3_000, 1_000))
    yield (
        f"is {gmean(large):.1f} at n = 10,000 ({len(large)} kinds, the least {large.min():.2f}), and "
        f"{gmean(middle):.1f} at n = 3,000 ({len(middle)} kinds, the least {middle.min():.2f})"
    )
    long = corpus[(corpus["size"] == 10_000) & (corpus.ours > 1.0)]
    yield f"the certificate takes at most {100 * long['certificate share'].max():.0f} % of the time"
    yield f"and the ratio is {small.min():.2f}."
    more = data["million"]["cost"] / data["gpu million"]["certified bound"] - 1
    yield f"costs {100 * more:.0f} % more than the bound"
    yield f"costs only {100 * (data['million']['subsample ratio'] - 1):.1f} % more than the optimum"
    yield f"In total {hostile['problems'] - hostile['proven']} plans are not proven"
    yield f"The largest error of a marginal is {hostile['largest relative marginal error']:.0e} of its weight"
    yield f"the slowest takes {hostile['slowest / median of its size']:.1f} times the median"


def harm() -> Words:
    rows = rows_of("harm.json")
    wrong = rows[(rows.truth == "wrong") & (rows.arm == "frame:scale")]
    yield f"costs up to {-100 * wrong.worst.min():.0f} points there"


def trust() -> Words:
    rows = rows_of("trust-verdicts.json")
    yield f"Of {len(rows)} verdicts {rows.right.sum()} are right"


def vae() -> Words:
    run = record("vae.json")["runs"][0]
    error = run["reconstruction"]
    yield f"(12,000 steps) in {run['seconds']['training']:.0f} s"
    yield f"about {error['source']:.3f} on the source and {error['target']:.3f} on the target"
    yield f"{error['held-out source']:.3f} and {error['held-out target']:.3f} on held-out images"
    yield f"proven optimal to {max(plan['gap'] for plan in run['plans']):.0e}"
    rows = {(row["images"], row["position"]): row for row in run["rows"]}
    ends = {kind: rows[kind, 1.0]["classifier_accuracy"] for kind, position in rows if position == 1.0}
    yield f"in {ends['input space, optimal plan']:.1f} % (input space) and {ends['latent space, optimal plan']:.1f} % ("
    yield f"in {ends['input space, true pairs']:.1f} % and {ends['latent space, true pairs']:.1f} % with true pairs"
    pixels, latent = rows["input space, true pairs", 0.6], rows["latent space, true pairs", 0.6]
    alone = rows["real rotation, through the VAE", 0.6]
    yield f"is {latent['own']:.1f} against {pixels['own']:.1f}, of which the VAE alone accounts for {alone['own']:.1f}"
    yield f"({latent['classifier_accuracy']:.0f} against {pixels['classifier_accuracy']:.0f} % at 27 degrees)"


def color_mnist_paper() -> Words:
    runs = rows_of("color-mnist-paper.json", "runs")
    frozen, goat = runs[runs["cell.method"] == "frozen-gst"], runs[runs["cell.method"] == "goat"]
    lowest = goat[goat["cell.n_generated"] == 4].transductive_last.min()
    yield f"frozen GST has {frozen.transductive_last.min():.1f} % and GOAT with four generated domains {lowest:.1f} %"
    yield f"leaves the network with {frozen.transductive_before.min():.1f} % on the target"


def covtype_reference() -> Words:
    rows = paper_table("covtype-reference")
    source = rows[(rows.row.astype(str) == "2") & (rows.column == "source only")].iloc[0]
    mass = rows[rows.column == "GOAT, 4 generated"].same_class_mass
    yield f"Our source models reach {source.transductive_last:.1f} %"
    yield f"Of the plans' mass {mass.min():.0f} to {mass.max():.0f} % joins rows of one class"


def rotated_mnist_reference() -> Words:
    rows = paper_table("rotated-mnist-reference")
    mass = [f"{share:.0f}" for share in rows[rows.column == "GOAT, 4 generated"].same_class_mass]
    yield f"is {', '.join(mass[:-1])} and {mass[-1]} % with 0 to 4 given domains"


_NOTES = (color_mnist_paper, covtype_reference, rotated_mnist_reference)
_PAGES = (
    *(
        choice,
        frontier,
        harm,
        number_of_domains,
        peers,
        remedies_measured,
        scale_measured,
        transport_measured,
        trust,
        vae,
    ),
)
FIGURES: dict[str, Callable[[], Words]] = {
    "README.md": readme,
    **{f"docs/{own.__name__}.md": own for own in _PAGES},
    **{f"results/notes/{own.__name__.replace('_', '-')}.md": own for own in _NOTES},
}
