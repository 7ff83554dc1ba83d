"""Made-up tables whose truth is known: what moves, what the labels do, and which assumption holds.

    python benchmarks/worlds.py

prints them. A world draws windows of rows with true labels in every window; who judges a method takes the labels of all
windows but the first away. Each world says which assumptions hold in it, which of them is the one to declare, and which
wrong ones the rows alone could refute, given enough of them: those under which the rows could not have this law. One
normal column that moves is a new offset, bit for bit: no rows speak against `scale` there. A cloud that walks around
its middle is turned: `structure` holds. Some worlds come as twins with the same rows and other labels: no method can be
right in both, and only what a user declares can tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import ortho_group

from driftfit.seeds import derive_seed

COVARIATES, PROPORTIONS, SCALE, STRUCTURE, PATH = "covariates", "proportions", "scale", "structure", "path"
WORDS = (COVARIATES, PROPORTIONS, SCALE, STRUCTURE, PATH)
LABEL, WINDOW = "label", "window"
CUSTOMER = "customer"

# Rows of a window: the stream of the window, how far the drift has come (0 to 1), how many rows, and a stream that is
# the same in all windows of a seed, for what does not change from window to window.
Draw = Callable[[Generator, float, int, Generator], pd.DataFrame]


@dataclass(frozen=True)
class World:
    """Windows of rows with true labels, and what is true about them.

    Attributes
    ----------
    name, about : str
    draw : callable
    holds : tuple of str
        Assumptions that hold.
    declared : str or None
        The one that describes the drift; None where nothing moves or none describes it.
    refutable : tuple of str
        Assumptions that do not hold and that rows without labels could refute, given enough of them.
    still : bool
        Whether rows and labels have the same law in all windows.
    n_windows, n_rows : int
    group : str or None
        Column that says which rows belong together.
    rows_of : str or None
        The world that has the same rows, bit for bit, with other labels.
    """

    name: str
    about: str
    draw: Draw
    holds: tuple[str, ...] = ()
    declared: str | None = None
    refutable: tuple[str, ...] = ()
    still: bool = False
    n_windows: int = 5
    n_rows: int = 400
    group: str | None = None
    rows_of: str | None = None

    def frame(self, seed: int) -> pd.DataFrame:
        """All windows with all labels, in order."""
        return pd.concat([self.window(seed, number) for number in range(self.n_windows)], ignore_index=True)

    def window(self, seed: int, number: int) -> pd.DataFrame:
        """One window; the one after the last has the law of the last."""
        part = min(number / (self.n_windows - 1), 1.0)
        return self._drawn(seed, number, part, self.n_rows)

    def fresh(self, seed: int, n_rows: int = 4_000) -> pd.DataFrame:
        """More rows with the law of the last window, which no method has seen."""
        return self._drawn(seed, self.n_windows, 1.0, n_rows)

    def _drawn(self, seed: int, number: int, part: float, n_rows: int) -> pd.DataFrame:
        stream = self.rows_of or self.name
        rng = np.random.default_rng(derive_seed("worlds", stream, seed, number))
        kept = np.random.default_rng(derive_seed("worlds", stream, seed, "kept"))
        rows = self.draw(rng, part, n_rows, kept)
        if self.group is not None:
            # Every window has customers of its own.
            rows[self.group] = [f"{number}-{own}" for own in rows[self.group]]
        return rows.assign(**{WINDOW: number})


def table(x: NDArray[np.float64], codes: NDArray[np.int64]) -> pd.DataFrame:
    """Columns ``c0, c1, ...`` and labels ``a``, ``b``, ``c``."""
    return pd.DataFrame(x, columns=[f"c{number}" for number in range(x.shape[1])]).assign(**{LABEL: named(codes)})


def named(codes: NDArray[np.int64]) -> NDArray[np.str_]:
    return np.array(["a", "b", "c"])[codes]


def drawn_by(rng: Generator, score: NDArray[np.float64]) -> NDArray[np.int64]:
    """Classes drawn with the odds of a score: this is what stays where P(label | row) holds."""
    return (rng.random(len(score)) < expit(score)).astype(np.int64)


def score_of(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The law of the labels of most worlds without class-conditional columns."""
    return 2.0 * x[:, 0] - 1.5 * x[:, 1] + x[:, 2]


# Where the second class lies from the first, in deviations; a linear model gets about 87 % right.
BETWEEN = np.array([1.8, 1.2, 0.6, 0.0])


def gaussians(rng: Generator, n: int, share: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Two classes, normal within each; P(row | class) holds whatever the share of the second one."""
    codes = (rng.random(n) < share).astype(np.int64)
    return rng.normal(size=(n, 4)) + codes[:, None] * BETWEEN, codes


# Nothing moves.


def still_normal(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    x = rng.normal(size=(n, 3))
    return table(x, drawn_by(rng, score_of(x)))


def still_normal_flags(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    x = rng.normal(size=(n, 3))
    flags = (rng.random((n, 3)) < [0.5, 0.2, 0.05]).astype(float)
    return table(np.column_stack([x, flags]), drawn_by(rng, score_of(x) + flags @ [1.0, -1.0, 1.5]))


def still_lognormal_flags(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    x = rng.normal(size=(n, 3))
    flags = (rng.random((n, 3)) < [0.5, 0.2, 0.05]).astype(float)
    return table(np.column_stack([np.exp(x), flags]), drawn_by(rng, score_of(x) + flags @ [1.0, -1.0, 1.5]))


def still_categories(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    colour, town = rng.choice(5, n, p=[0.4, 0.3, 0.15, 0.1, 0.05]), rng.integers(12, size=n)
    visits, calls = rng.poisson(1.0, n), rng.poisson(6.0, n)
    effects = kept.normal(size=12)
    score = np.array([-1.0, 0.5, 1.0, -0.5, 2.0])[colour] + effects[town] + 0.8 * visits - 0.3 * calls + 0.8
    colours = np.array(["red", "green", "blue", "white", "black"])[colour]
    towns = np.array([f"town {number}" for number in range(12)])[town]
    return pd.DataFrame(
        {"colour": colours, "town": towns, "visits": visits, "calls": calls, LABEL: named(drawn_by(rng, score))}
    )


def still_customers(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """Ten rows a customer: rows of one resemble each other, and so do their labels."""
    who = np.arange(n) // 10
    own = rng.normal(size=(who[-1] + 1, 4))
    x = 0.95 * own[who, :3] + 0.3 * rng.normal(size=(n, 3))
    return table(x, drawn_by(rng, score_of(x) + 1.5 * own[who, 3])).assign(**{CUSTOMER: who})


def still_autoregressive(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """Columns that remember: a window is a stretch of a path that returns to its mean after some hundred rows."""
    x = np.empty((n, 3))
    x[0] = rng.normal(size=3)
    steps = rng.normal(size=(n, 3)) * np.sqrt(1.0 - 0.99**2)
    for row in range(1, n):
        x[row] = 0.99 * x[row - 1] + steps[row]
    return table(x, drawn_by(rng, score_of(x)))


def still_wide(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    x = rng.normal(size=(n, 200))
    return table(x, drawn_by(rng, score_of(x)))


def still_rare(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """One row in fifty has the second class: eight rows of a window."""
    codes = rng.permutation((np.arange(n) < n // 50).astype(np.int64))
    return table(rng.normal(size=(n, 4)) + codes[:, None] * (1.4 * BETWEEN), codes)


def still_repeated(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """A join that went wrong: every row stands five times in the table, and nobody says so."""
    return still_normal_flags(rng, part, -(-n // 5), kept).loc[np.repeat(np.arange(-(-n // 5)), 5)[:n]]


# P(label | row) holds.


def covariates(deviations: float, n_noise: int = 0) -> Draw:
    """The first of three columns moves; what a row says about its label stays."""

    def draw(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
        x = rng.normal(size=(n, 3 + n_noise))
        x[:, 0] += deviations * part
        return table(x, drawn_by(rng, score_of(x)))

    return draw


def season(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """Temperature and daylight have a season; the last window lies half a year after the first."""
    warm = np.sin(np.pi * (part - 0.5))
    x = rng.normal(size=(n, 4))
    x[:, 0] = 10.0 + 8.0 * warm + 4.0 * x[:, 0]
    x[:, 1] = 12.0 + 3.0 * warm + 1.0 * x[:, 1]
    return table(x, drawn_by(rng, 0.25 * (x[:, 0] - 10.0) - 0.3 * (x[:, 1] - 12.0) + x[:, 2]))


def selected(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """A rule upstream lets ever fewer rows with a low first column through."""
    x = rng.normal(size=(8 * n, 3))
    x = x[(x[:, 0] > 0.0) | (rng.random(len(x)) > 0.85 * part)][:n]
    return table(x, drawn_by(rng, score_of(x)))


def missing(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """Values of the two best columns are missing at random: 2 % of them at first, 45 % at last."""
    x = rng.normal(size=(n, 4))
    codes = drawn_by(rng, score_of(x))
    x[:, :2][rng.random((n, 2)) < 0.02 + 0.43 * part] = np.nan
    return table(x, codes)


def heavy_tails(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """One of thirty columns moves, and all have tails so heavy that means hardly settle."""
    x = rng.standard_t(3, size=(n, 30))
    x[:, 0] += 1.5 * part
    return table(x, drawn_by(rng, score_of(np.tanh(x))))


def new_customers(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """Ten rows a customer; ever more of them are of a second kind, whose rows lie elsewhere and vary less."""
    who = np.arange(n) // 10
    second = (rng.random(who[-1] + 1) < 0.1 + 0.7 * part)[who, None]
    own = rng.normal(size=(who[-1] + 1, 3))[who]
    x = np.where(second, 0.4 * own + [1.5, 1.0, 0.0], 0.95 * own) + 0.3 * rng.normal(size=(n, 3))
    return table(x, drawn_by(rng, score_of(x))).assign(**{CUSTOMER: who})


def outliers(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """From the middle on, 3 % of the rows have a broken value a thousand times too large in the first column."""
    x = rng.normal(size=(n, 3))
    codes = drawn_by(rng, score_of(x))
    if part >= 0.5:
        x[rng.random(n) < 0.03, 0] = 1_000.0
    return table(x, codes)


def prices(relative: bool) -> Draw:
    """An amount grows by 60 %; the label depends on it as it is, or on how it compares with others of its time."""

    def draw(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
        x = rng.normal(size=(n, 3))
        grown = x[:, 0] * 0.5 + np.log(1.6) * part
        score = 4.0 * (grown - (np.log(1.6) * part if relative else 0.0)) - x[:, 1] + 0.5 * x[:, 2]
        return table(np.column_stack([np.exp(grown + 3.0), x[:, 1:]]), drawn_by(rng, score))

    return draw


# P(row | class) holds.


def proportions(first: float, last: float) -> Draw:
    def draw(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
        return table(*gaussians(rng, n, first + (last - first) * part))

    return draw


def season_of_classes(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """The share of the second class has a season: 15 % in winter, 55 % in summer; the last window is a summer."""
    return table(*gaussians(rng, n, 0.35 - 0.2 * np.cos(3.0 * np.pi * part)))


# Columns or the whole cloud change.


def offset_along(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """All columns get an offset, together along the difference of the classes: the first lands where the second was."""
    x, codes = gaussians(rng, n, 0.5)
    return table(x + 0.8 * part * BETWEEN, codes)


def rescaled(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """Each column gets a unit and an offset of its own from the third window on."""
    x, codes = gaussians(rng, n, 0.4)
    factor, offset = np.exp(kept.uniform(-1.5, 1.5, 4)), kept.normal(size=4) * 3.0
    return table(x * factor + offset if part >= 0.5 else x, codes)


def rescaled_and_shares(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """New units while the share of the second class goes from 50 to 20 %: own units would take the shares away."""
    x, codes = gaussians(rng, n, 0.5 - 0.3 * part)
    factor, offset = np.exp(kept.uniform(-1.5, 1.5, 4)), kept.normal(size=4) * 3.0
    return table(x * factor + offset if part >= 0.5 else x, codes)


def turned(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """Five clusters of different weight and width in twelve columns; from the third window on all of it is turned."""
    centres, widths = kept.normal(size=(5, 12)) * 1.2, np.array([0.6, 1.3, 0.9, 0.5, 1.1])
    turn = ortho_group.rvs(12, random_state=kept)
    cluster = rng.choice(5, n, p=[0.32, 0.24, 0.19, 0.15, 0.10])
    x = centres[cluster] + rng.normal(size=(n, 12)) * widths[cluster, None]
    return table(x @ turn if part >= 0.5 else x, np.array([0, 1, 0, 1, 1])[cluster])


def path(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """Two classes of different width walk around each other by 150 degrees, a little with every row."""
    codes = (rng.random(n) < 0.4).astype(np.int64)
    # The first window begins to move, too; windows follow each other without a gap.
    angle = np.deg2rad(120.0 * part + 30.0 * np.arange(n) / n)
    centre = 1.7 * np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(codes == 1, 1.0, -1.0)[:, None]
    noise = rng.normal(size=(n, 4)) * np.where(codes == 1, 1.0, 0.7)[:, None]
    noise[:, :2] += centre
    return table(noise, codes)


# No assumption describes it.


def new_class(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """A third class that the first window does not have; a quarter of the rows at last."""
    x, codes = gaussians(rng, n, 0.5)
    new = rng.random(n) < 0.25 * part
    x[new] = rng.normal(size=(int(new.sum()), 4)) * 0.7 + [-1.0, 2.0, 4.0, 3.0]
    return table(x, np.where(new, 2, codes))


def concept(deviations: float) -> Draw:
    """What a row says about its label turns by 100 degrees; rows stay, or the first column moves as well."""

    def draw(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
        x, angle = rng.normal(size=(n, 3)), np.deg2rad(100.0) * part
        x[:, 0] += deviations * part
        weights = 2.5 * np.array([np.cos(angle), np.sin(angle), 0.0])
        return table(x, drawn_by(rng, x @ weights))

    return draw


def sensors(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """In half of the machines the first sensor is replaced by one with another unit."""
    x, codes = gaussians(rng, n, 0.4)
    machine = rng.integers(20, size=n)
    x[:, 0] = np.where((machine < 10) & (part >= 0.5), 1.8 * x[:, 0] + 3.0, x[:, 0])
    return table(x, codes).assign(machine=[f"m{number:02d}" for number in machine])


def missing_by_class(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """The best column is missing ever more often in the second class, and in the first as seldom as ever."""
    x, codes = gaussians(rng, n, 0.4)
    x[rng.random(n) < np.where(codes == 1, 0.05 + 0.5 * part, 0.05), 0] = np.nan
    return table(x, codes)


def renamed(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """One of five categories, the one that says most, is written otherwise from the fourth window on."""
    rows = still_categories(rng, part, n, kept)
    return rows.replace({"colour": {"green": "verde", "red": "rojo"}}) if part > 0.5 else rows


def stuck(rng: Generator, part: float, n: int, kept: Generator) -> pd.DataFrame:
    """A sensor sticks: it shows one value from the fourth window on."""
    x, codes = gaussians(rng, n, 0.4)
    if part > 0.5:
        x[:, 1] = 2.0
    return table(x, codes)


_AFFINE = (SCALE, STRUCTURE)
_EXACT = (PROPORTIONS, *_AFFINE)
PRICES = "prices-as-they-are"
_WORLDS = (
    World("nothing-normal", "three normal columns", still_normal, WORDS, still=True),
    World("nothing-normal-and-flags", "three normal columns and three flags", still_normal_flags, WORDS, still=True),
    World("nothing-lognormal-and-flags", "lognormal columns and flags", still_lognormal_flags, WORDS, still=True),
    World("nothing-categories", "two categories and two counts", still_categories, WORDS, still=True),
    World("nothing-customers", "ten rows a customer", still_customers, WORDS, still=True, group=CUSTOMER),
    World("nothing-autoregressive", "columns that remember", still_autoregressive, WORDS, still=True),
    World("nothing-small-windows", "windows of 60 rows", still_normal, WORDS, still=True, n_rows=60),
    World("nothing-20-windows", "20 windows of 100 rows", still_normal, WORDS, still=True, n_windows=20, n_rows=100),
    World("nothing-200-columns", "200 normal columns, three of use", still_wide, WORDS, still=True),
    World("nothing-rare-class", "a class of 2 %", still_rare, WORDS, still=True),
    World("nothing-repeated-rows", "every row five times", still_repeated, WORDS, still=True),
    World("covariates-0.5", "one column moves by 0.5", covariates(0.5), (COVARIATES,), COVARIATES, (PROPORTIONS,)),
    World("covariates-1", "one column moves by 1", covariates(1.0), (COVARIATES,), COVARIATES, (PROPORTIONS,)),
    World("covariates-1.5", "one column moves by 1.5", covariates(1.5), (COVARIATES,), COVARIATES, (PROPORTIONS,)),
    World("covariates-1-noise", "and ten without use", covariates(1.0, 10), (COVARIATES,), COVARIATES, (PROPORTIONS,)),
    World("season", "temperature, winter to summer", season, (COVARIATES,), COVARIATES, (PROPORTIONS,)),
    World("selected", "a rule upstream filters rows", selected, (COVARIATES,), COVARIATES, _EXACT),
    World("heavy-tails", "one of 30 columns moves", heavy_tails, (COVARIATES,), COVARIATES, (PROPORTIONS,)),
    World("new-customers", "other customers", new_customers, (COVARIATES,), COVARIATES, _EXACT, group=CUSTOMER),
    World("missing-values", "2 to 45 % of two columns", missing, (COVARIATES,), COVARIATES, _EXACT),
    World(PRICES, "inflation; labels by the amount", prices(False), (COVARIATES,), COVARIATES, (PROPORTIONS,)),
    World("prices-relative", "labels by the rank", prices(True), (SCALE,), SCALE, (PROPORTIONS,), rows_of=PRICES),
    World("proportions-50-10", "50 to 10 %", proportions(0.5, 0.1), (PROPORTIONS, PATH), PROPORTIONS, _AFFINE),
    World("proportions-5-60", "5 to 60 %", proportions(0.05, 0.6), (PROPORTIONS, PATH), PROPORTIONS, _AFFINE),
    World("season-of-classes", "15 to 55 %, back, again", season_of_classes, (PROPORTIONS, PATH), PROPORTIONS, _AFFINE),
    World("offset-along", "offset from class to class", offset_along, (SCALE, STRUCTURE, PATH), SCALE, (PROPORTIONS,)),
    World("rescaled", "each column its own unit", rescaled, (SCALE,), SCALE, (PROPORTIONS, STRUCTURE, PATH)),
    World("rescaled-and-shares", "new units, other shares", rescaled_and_shares, (), None, (*_EXACT, PATH)),
    World("turned", "the cloud is turned", turned, (STRUCTURE,), STRUCTURE, (PROPORTIONS, SCALE, PATH)),
    World("path", "classes walk around each other", path, (STRUCTURE, PATH), PATH, (PROPORTIONS, SCALE)),
    World("new-class", "a class nobody knew", new_class, (), None, _EXACT),
    World("concept", "labels turn, rows stay", concept(0.0)),
    World("concept-and-rows", "labels turn, a column moves", concept(1.0), refutable=(PROPORTIONS,)),
    World("sensor-in-half", "a sensor replaced in half of the machines", sensors, (), None, _EXACT),
    World("category-renamed", "two categories renamed", renamed, (), None, _EXACT),
    World("missing-by-class", "missing by the class", missing_by_class, (), None, _EXACT),
    World("sensor-stuck", "one column shows one value", stuck, (), None, _EXACT),
    World("outliers", "3 % broken values", outliers, (), None, _EXACT),
)  # fmt: skip
WORLDS = {world.name: world for world in _WORLDS}


def main() -> None:
    print("| world | what it is | assumptions that hold | wrong ones that rows could refute |\n|---|---|---|---|")
    for world in WORLDS.values():
        print(f"| {world.name} | {world.about} | {', '.join(world.holds)} | {', '.join(world.refutable)} |")


if __name__ == "__main__":
    main()
