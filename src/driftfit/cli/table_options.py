"""The options of `driftfit check` and `driftfit adapt`, declared once: from words to a table and settings."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftfit.cli.parsing import Fail, at_least
from driftfit.offers import found

if TYPE_CHECKING:
    from driftfit.app import Settings

# Exit code with --fail-on untrusted.
UNTRUSTED = 3
# Values of an order column that can be named: more would not fit into windows.
_MOST_WORDS = 1_000


def declare_table(parser: argparse.ArgumentParser) -> None:
    """Every option that says which table to read and how to go about it."""
    parser.add_argument(
        "tables",
        nargs="+",
        type=Path,
        metavar="TABLE",
        help="CSV or Parquet file, several of them, a folder or a pattern; or a folder of images with a CSV",
    )
    parser.add_argument(
        "--label", required=True, help="column of the labels: rows with one are history, rows without one are today's"
    )
    _declare_history(parser)
    parser.add_argument(
        "--order", help="column that orders the rows; @row: their position; @file: one snapshot per file, in order"
    )
    parser.add_argument(
        "--categorical",
        action="append",
        default=[],
        metavar="COLUMNS",
        help="columns whose numbers are codes, such as a postcode; names separated by commas, may be repeated",
    )
    parser.add_argument(
        "--written",
        action="append",
        default=[],
        metavar="EXAMPLE",
        help="how numbers or dates are written where a column of text may be read in two ways: 1.234,5 or 1,234.5, "
        "31/12/2024 or 12/31/2024; may be repeated",
    )
    parser.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="COLUMNS",
        help="columns to leave out; names separated by commas, may be repeated",
    )
    parser.add_argument(
        "--group",
        metavar="COLUMN",
        help="column that says what a row belongs to, such as its customer or machine; no feature. Rows of one group "
        "resemble each other, so that tests count groups [each row by itself, or neighbours that follow each other]",
    )
    declare_id(parser)
    _declare_windows(parser.add_argument_group("windows", "one of these [five with equally many rows]"))
    _declare_model(parser.add_argument_group("model"))
    _declare_adaptation(
        parser.add_argument_group("adaptation", "what adapt does after the check; check accepts these too")
    )
    output = parser.add_argument_group("output")
    output.add_argument("--json", action="store_true", dest="as_json", help="print the result as JSON")
    output.add_argument(
        "--fail-on",
        choices=("never", "untrusted"),
        default="never",
        help=f"untrusted: exit with code {UNTRUSTED} unless the advice is to adapt (check), or the advice was followed "
        "and the adapted model is kept (adapt) [%(default)s]",
    )


def _declare_history(parser: argparse.ArgumentParser) -> None:
    """Which labels are used, and what counts."""
    parser.add_argument(
        "--labels-until",
        metavar="WINDOW",
        help="use the labels of every window up to this one, given by name or number (from 1) [the last that has some]",
    )
    parser.add_argument(
        "--history",
        choices=("all", "first"),
        default="all",
        help="all: learn from every label, and measure on past windows which way to learn helps. first: labels of the "
        "first window alone, as in the paper [%(default)s]",
    )
    parser.add_argument(
        "--late",
        type=at_least(0),
        metavar="K",
        help="labels arrive this many windows late: backtests learn from what was known then [read off the table]",
    )
    parser.add_argument(
        "--sets",
        type=float,
        metavar="SHARE",
        help="give each row the classes that hold the truth in so large a share of the rows, such as 0.9, calibrated "
        "on past windows",
    )
    parser.add_argument(
        "--metric",
        metavar="NAME",
        help="what counts: a classification scorer of scikit-learn, such as roc_auc, average_precision, f1_macro, "
        "balanced_accuracy or neg_log_loss; or cost:FILE, a CSV table of what it costs to answer a class (column) "
        "where another is true (row) [accuracy; balanced_accuracy where a class has under 10 %% of the labelled rows]",
    )


def declare_id(parser: argparse.ArgumentParser) -> None:
    """The option that carries columns along."""
    parser.add_argument(
        "--id",
        action="append",
        default=[],
        metavar="COLUMNS",
        help="columns to carry along into the predictions, such as a number of the customer; no features",
    )


def columns_in(texts: list[str]) -> tuple[str, ...]:
    """Names that are separated by commas, in one word or several."""
    return tuple(dict.fromkeys(name for text in texts for name in text.split(",") if name))


def _declare_windows(group: Any) -> None:
    group.add_argument(
        "--order-words",
        type=_words,
        default=(),
        metavar="WORDS",
        help="values of the order column, first to last, where they are words: Jan22,Feb22,Mar22. Goes with any of the "
        "others [numbers and dates have an order; words without figures are taken alphabetically]",
    )
    group.add_argument("--windows", type=at_least(2, 100), metavar="N", help="this many windows with equally many rows")
    group.add_argument(
        "--window-by",
        metavar="PERIOD",
        help="a window for each hour, day, week, month, quarter or year of a date column, or for each value",
    )
    group.add_argument(
        "--by-value", action="store_const", const="value", dest="window_by", help="the same as --window-by value"
    )
    group.add_argument(
        "--given", type=_values, metavar="VALUES", help="windows begin at these values of the order column: 1990,2000"
    )


def _declare_model(group: Any) -> None:
    group.add_argument(
        "--model",
        default="logistic",
        help="classifier to train: logistic, forest, boosting, mlp, sgd, PATH.py:NAME (your own), or auto: the best of "
        "the first three by cross-validation on the first window. With millions of rows, models that learn in batches "
        "(mlp, sgd) see every labelled row, the others a sample [%(default)s]",
    )
    group.add_argument(
        "--old-predictions",
        metavar="COLUMN",
        help="column with the predictions of the model you have in use: others are compared with it, and it is kept "
        "unless one is clearly better [without: a model of all labels]",
    )
    group.add_argument(
        "--old-model",
        metavar="FILE",
        help="file of the model you have in use: .skops (unknown types are refused), .onnx (needs onnxruntime), or "
        "PATH.py:NAME, an object with predict or a function of a data frame; the Python file is run with your rights",
    )
    group.add_argument(
        "--encoder",
        type=_encoder,
        default="none",
        help="space in which domains are generated: none (the features), pca:32 (or another number of components), or "
        "mlp (hidden layer of a network trained on the first window) [%(default)s]",
    )
    group.add_argument(
        "--seed", type=at_least(-(2**63), 2**63 - 1), default=0, help="seed of every random choice [%(default)s]"
    )
    group.add_argument(
        "--training-rows",
        type=at_least(10),
        default=20_000,
        metavar="N",
        help="at most this many rows of each window are trained on [%(default)s]",
    )
    group.add_argument(
        "--transport-rows",
        type=at_least(10),
        default=2_000,
        metavar="N",
        help="at most this many rows of each window are used for transport plans and checks [%(default)s]",
    )


def _declare_adaptation(group: Any) -> None:
    group.add_argument(
        "--assume",
        type=lambda text: tuple(word.strip() for word in text.split(",") if word.strip()),
        default=(),
        metavar="WORDS",
        help="what may have changed, the likeliest first; without labels of today nothing else can tell. covariates: "
        "rows move and labels go with them as before. proportions: how frequent each class is. scale: units and "
        "offsets of columns. structure: the whole cloud was turned. path: each window lies close to the one before. "
        "What follows from it is tested first [nothing: the old model stays]",
    )
    group.add_argument(
        "--method",
        choices=("auto", *found()),
        metavar="WORD",
        default="auto",
        help="how to adapt [%(default)s]. auto: by what --assume declares; for images and networks, and with "
        "--generated, goat. " + " ".join(f"{word}: {_sentence(about)}." for word, (_, about) in found().items()),
    )
    group.add_argument(
        "--proportions",
        type=_proportions,
        default=(),
        metavar="CLASS=SHARE,...",
        help="share of each class in the last window, where you know it: no=0.9,yes=0.1",
    )
    group.add_argument(
        "--generated",
        type=_generated,
        default=None,
        metavar="auto|K",
        help="number of domains that goat generates between two neighbouring windows. auto: 0 to 4 are tried and one "
        "is chosen without labels; on large tables a rule from the check decides [auto]",
    )
    group.add_argument(
        "--keep",
        choices=("better", "adapted"),
        default="better",
        help="model to keep. adapted: the new one in any case. better: the old one where the check advises against "
        "adapting, where a class was lost, or where adaptation is estimated to hurt [%(default)s]",
    )


def _sentence(about: str) -> str:
    """A first line as part of a longer text, in which argparse takes a percent sign for a name."""
    return (about[:1].lower() + about[1:]).rstrip(".").replace("%", "%%").replace("``", "")


def settings_of(chosen: argparse.Namespace, fail: Fail) -> Settings:
    """The settings that the options ask for; what could not be stored later is refused here."""
    words = _one_window_rule(chosen, fail)
    by_file = chosen.order == "@file" or (chosen.order is None and len(chosen.tables) > 1)
    if chosen.order is None and not by_file:
        fail("one table needs --order COLUMN, or --order @row for the order of its rows")
    if chosen.generated is not None and chosen.method not in ("auto", "goat"):
        fail(f"--generated goes with --method goat; --method {chosen.method} generates no domains")
    if chosen.old_model is not None and chosen.old_predictions is not None:
        fail("--old-model and --old-predictions exclude each other: one model is in use")
    method = chosen.method if chosen.generated is None else "goat"
    from driftfit.app import History, Keep, Limits, Settings
    from driftfit.app.models import BestModel, encoder_from_word, method_from_word, model_from_word
    from driftfit.selection import Metric

    settings = Settings(
        label=chosen.label,
        order=_order(chosen.order, by_file),
        windows=_windows(words, by_file),
        model=BestModel() if chosen.model == "auto" else model_from_word(chosen.model),
        encoder=encoder_from_word(chosen.encoder),
        method=None if isinstance(chosen.generated, int) else method_from_word(method),
        n_generated=chosen.generated if isinstance(chosen.generated, int) else None,
        keep=Keep(chosen.keep),
        seed=chosen.seed,
        limits=Limits(chosen.training_rows, chosen.transport_rows),
        categorical=columns_in(chosen.categorical),
        drop=columns_in(chosen.drop),
        id=columns_in(chosen.id),
        proportions=chosen.proportions,
        in_use=_in_use(chosen),
        assume=chosen.assume,
        group=chosen.group,
        order_words=chosen.order_words,
        written=tuple(chosen.written),
        labels_until=chosen.labels_until,
        history=History(chosen.history),
        late=chosen.late,
        sets=chosen.sets,
        metric=None if chosen.metric is None else Metric.from_word(chosen.metric),
    )
    if ":" in chosen.model:
        # Our own models can be stored; to ask about them would take longer than to train them.
        from driftfit.app.skops_files import check_storable

        check_storable(settings.model)
    return settings


def _in_use(chosen: argparse.Namespace) -> Any:
    from driftfit.app.own_model import own_model, predictions_in

    if chosen.old_predictions is not None:
        return predictions_in(chosen.old_predictions)
    return None if chosen.old_model is None else own_model(chosen.old_model)


def _proportions(text: str) -> tuple[tuple[str, float], ...]:
    try:
        parts = [part.rpartition("=") for part in text.split(",")]
        found = tuple((name, float(share)) for name, _, share in parts)
    except ValueError:
        found = ()
    if not found or not all(name for name, _ in found) or abs(sum(share for _, share in found) - 1.0) > 0.01:
        raise argparse.ArgumentTypeError(f"must be shares that sum to 1, such as no=0.9,yes=0.1; got {text!r}")
    return found


def _generated(word: str) -> int | str:
    if word == "auto":
        return word
    if not word.isdecimal():
        raise argparse.ArgumentTypeError(f"must be 'auto' or a whole number, got {word!r}")
    return at_least(0, 50)(word)


def _encoder(word: str) -> str:
    if word.startswith("pca:") and word[4:].isdecimal():
        at_least(0, 10_000)(word[4:])
    return word


def _words(text: str) -> tuple[str, ...]:
    """Words separated by commas; more of them than a column of windows has are refused unread."""
    found = tuple(word.strip() for word in text.split(",", _MOST_WORDS))
    if len(found) > _MOST_WORDS:
        raise argparse.ArgumentTypeError(f"must be at most {_MOST_WORDS} words separated by commas")
    return found


def _values(text: str) -> str:
    _words(text)
    return text


def _one_window_rule(chosen: argparse.Namespace, fail: Fail) -> tuple[str, Any] | None:
    rules = (("windows", chosen.windows), ("window-by", chosen.window_by), ("given", chosen.given))
    asked = [(name, value) for name, value in rules if value is not None]
    if len(asked) > 1:
        fail(f"--{asked[0][0]} and --{asked[1][0]} exclude each other")
    return asked[0] if asked else None


def _order(word: str | None, by_file: bool) -> Any:
    from driftfit.app import Column, FilePosition, RowPosition

    if by_file or word is None:
        return FilePosition()
    return RowPosition() if word == "@row" else Column(word)


def _windows(words: tuple[str, Any] | None, by_file: bool) -> Any:
    from driftfit.app import ByCalendar
    from driftfit.app.windows import parse_values
    from driftfit.domains import ByEdges, ByQuantile, ByValue

    if words is None:
        return ByValue() if by_file else ByQuantile(5)
    rule, value = words
    if rule == "windows":
        return ByQuantile(value)
    if rule == "given":
        return ByEdges(parse_values(value))
    return ByValue() if value == "value" else ByCalendar(value)
