"""A cell of the paper's tables: a method on a benchmark, and the two readings of the paper as settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from driftfit.errors import InputError

# Mean and half width of the 95 % confidence interval, in percent.
Figure = tuple[float, float]

# Far more than anyone runs; all cells of a table are held at once.
_MOST_SEEDS = 10_000


@dataclass(frozen=True, order=True)
class Cell:
    """One run: which table, which method, how many domains, which seed.

    ``table``: name of the benchmark, the data that the run is about. ``preset``: which reading of the paper the run
    follows. ``n_given``: given domains between source and target. ``method``: one of `driftfit.lab.configurations`.
    ``n_generated``: domains generated between each two neighbours. ``n_samples``: at most this many samples in each
    domain; None: all. ``settings``: digest of the preset's settings, so that a changed preset makes new cells.
    ``study``: ablation that the run belongs to, with settings of its own; empty for the tables. ``variant``: what the
    method is varied in: an encoder layer, a plan, what it may see.

    >>> cell = Cell("covtype", "reference", 0, 2, "goat", 4)
    >>> str(cell)
    'covtype goat given 2+4 seed 0'
    """

    table: str
    preset: str
    seed: int
    n_given: int
    method: str
    n_generated: int = 0
    n_samples: int | None = None
    settings: str = ""
    study: str = ""
    variant: str = ""

    @property
    def key(self) -> str:
        """The cell as canonical JSON."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @property
    def group(self) -> tuple[str, str, str, int, int | None]:
        """Cells of one group share their source model, encodings and plans."""
        return self.table, self.preset, self.study, self.seed, self.n_samples

    def __str__(self) -> str:
        generated = f"+{self.n_generated}" if self.n_generated else ""
        variant = f" ({self.variant})" if self.variant else ""
        return f"{self.table} {self.method}{variant} given {self.n_given}{generated} seed {self.seed}"


@dataclass(frozen=True)
class Options:
    """What a user may choose about a table; None: what the table has by itself."""

    preset: str = "reference"
    given: Sequence[int] | None = None
    generated: Sequence[int] | None = None
    n_samples: int | None = None
    with_given: bool = False
    first_seed: int = 0

    def __post_init__(self) -> None:
        for name in ("given", "generated"):
            counts = getattr(self, name)
            if counts is not None and (not counts or min(counts) < 0):
                shown = ",".join(map(str, counts))
                raise InputError(f"--{name} takes counts of 0 or more such as 0,2,4, got {shown!r}")
            if counts is not None and len(set(counts)) < len(counts):
                raise InputError(f"--{name} names a count twice: {','.join(map(str, counts))}")
        if self.n_samples is not None and self.n_samples < 2:
            raise InputError(f"--samples must be at least 2, got {self.n_samples!r}")


@dataclass(frozen=True)
class Place:
    """One number of a table.

    ``cell``: the run behind it, with seed 0 standing for all seeds. ``published``: mean and half width of the interval
    in the paper. ``measure``: which accuracy of the run.
    """

    row: str
    column: str
    cell: Cell
    published: Figure | None = None
    measure: str = "transductive_last"


@dataclass(frozen=True)
class Table:
    """Places in order; rows and columns appear as they first do there.

    ``corner``: what the rows are. ``note``: what a reader must know to compare. ``figure``: whether it is also drawn.
    ``contender``: row that is compared with all others, seed by seed. ``first_seed``: runs have this seed and those
    behind it.
    """

    name: str
    title: str
    corner: str
    places: tuple[Place, ...]
    note: str = ""
    figure: bool = False
    contender: str = ""
    first_seed: int = 0

    def cells(self, seeds: int) -> list[Cell]:
        """The runs behind all places, each once."""
        if not 1 <= seeds <= _MOST_SEEDS:
            raise InputError(f"seeds must be at least 1 and at most {_MOST_SEEDS}, got {seeds!r}")
        templates = dict.fromkeys(place.cell for place in self.places)
        return [
            replace(cell, seed=seed) for seed in range(self.first_seed, self.first_seed + seeds) for cell in templates
        ]


BENCHMARKS = ("rotated-mnist", "color-mnist", "portraits", "covtype")
PRESETS = ("reference", "paper")
# Ablations with settings of their own; the empty name stands for the tables.
FRONTIER = "frontier"
STUDIES = ("", "encoders", "plans", FRONTIER)


@dataclass(frozen=True)
class Settings:
    """Everything about a run that the preset decides, data aside.

    ``network``: ``ablation-cnn`` is the reference network with a fourth convolution. ``encoder``: layer at which the
    network is cut; ``"input"`` for no encoder. ``pretrain_encoder``: self-train encoder and a small head along the
    given domains first, then discard the head and freeze the encoder; otherwise the encoder is that of the source
    model. ``lr`` and ``weight_decay``: of Adam; a new optimiser for each domain. ``patience``: early stopping on a
    tenth of the training data. ``drop_fraction``: share of the least confident pseudo-labels, by largest minus smallest
    logit. ``use_plan_weights``: weigh generated samples in the loss by the mass of the plan. ``tf32``: whether matrix
    products of the networks may use TF32 on a GPU, as torch lets convolutions do; transport never does.
    """

    network: Literal["reference-cnn", "ablation-cnn", "paper-cnn", "mlp"]
    encoder: str
    pretrain_encoder: bool
    source_epochs: int
    self_training_epochs: int
    lr: float = 1e-4
    weight_decay: float = 1e-4
    batch_size: int = 128
    patience: int | None = None
    drop_fraction: float = 0.1
    use_plan_weights: bool = False
    tf32: bool = True

    @property
    def last_fully_connected(self) -> str:
        """Name of the last fully connected layer but the output."""
        return "fc2" if self.network in ("reference-cnn", "ablation-cnn") else "fc3"

    @property
    def of_a_table(self) -> bool:
        """Whether samples are rows of a table, not images."""
        return self.network == "mlp"

    @property
    def digest(self) -> str:
        """Changes whenever a setting does."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:8]


# Epochs on the source and on each domain behind it.
_REFERENCE_EPOCHS = {"rotated-mnist": (5, 5), "color-mnist": (20, 10), "portraits": (20, 5), "covtype": (5, 5)}
_ABLATION_EPOCHS, _FRONTIER_EPOCHS = (20, 10), (20, 5)


def settings(table: str, preset: str = "reference", study: str = "") -> Settings:
    """The settings of a benchmark at a preset, for the tables or for an ablation.

    >>> settings("portraits").source_epochs, settings("portraits", "paper").encoder
    (20, 'conv2')
    >>> settings("rotated-mnist", study="encoders").network
    'ablation-cnn'
    """
    table = next((known for known in BENCHMARKS if table.startswith(f"{known}-")), table)
    if table not in BENCHMARKS:
        raise InputError(f"there is no benchmark {table!r}; choose one of {', '.join(BENCHMARKS)}")
    if preset not in PRESETS:
        raise InputError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
    if study not in STUDIES:
        raise InputError(f"study must be one of {', '.join(map(repr, STUDIES))}, got {study!r}")
    chosen = _reference(table) if preset == "reference" else _paper(table)
    if study and preset == "reference":
        source_epochs, epochs = _FRONTIER_EPOCHS if study == FRONTIER else _ABLATION_EPOCHS
        chosen = replace(chosen, source_epochs=source_epochs, self_training_epochs=epochs)
    if study == "encoders" and chosen.network == "reference-cnn":
        chosen = replace(chosen, network="ablation-cnn")
    return chosen


def _reference(table: str) -> Settings:
    if table == "covtype":
        return Settings("mlp", "input", False, *_REFERENCE_EPOCHS[table])
    return Settings("reference-cnn", "conv3", False, *_REFERENCE_EPOCHS[table])


def _paper(table: str) -> Settings:
    images = table != "covtype"
    return Settings(
        network="paper-cnn" if images else "mlp",
        encoder="conv2" if images else "input",
        pretrain_encoder=images,
        source_epochs=_REFERENCE_EPOCHS[table][0],
        self_training_epochs=10,
        # The text names one batch size, for its auto-encoder.
        batch_size=512,
        patience=2,
        use_plan_weights=True,
    )
