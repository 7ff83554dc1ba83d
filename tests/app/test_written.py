"""Numbers, dates, texts and lists in every dress: read as they are meant, or named with the option that reads them."""

import numpy as np
import pandas as pd
import pytest

from driftfit.app import Column, Settings, adapt_frame, load_run, save_run, summarise, table_of
from driftfit.app.columns import Kind, conform, plan_columns
from driftfit.domains import ByValue
from driftfit.errors import InputError

N = 240
RNG = np.random.default_rng(0)
AMOUNTS = np.round(RNG.random(N) * 99_999, 2)
WHOLE = RNG.integers(1, 9_999_999, N)
DAYS = pd.Series(pd.date_range("2001-01-01", periods=N, freq="31h"))


def german(text):
    return text.translate(str.maketrans(",.", ".,"))


NUMBERS = {
    "€ 1,234.5": (AMOUNTS, lambda v: f"€ {v:,.2f}"),
    "1.234,5 €": (AMOUNTS, lambda v: german(f"{v:,.2f} €")),
    "1234,5": (AMOUNTS, lambda v: german(f"{v:.2f}")),
    "1234.5%": (AMOUNTS, lambda v: f"{v:.2f}%"),
    "1 234,5": (AMOUNTS, lambda v: german(f"{v:,.2f}").replace(".", "\u202f")),
    "1'234.5": (AMOUNTS, lambda v: f"{v:,.2f}".replace(",", "’")),
    "1,234.5": (WHOLE, lambda v: f"{v:,}"),
    "1234.5 kg": (WHOLE, lambda v: f"{v} kg"),
    "$1234.5": (-AMOUNTS, lambda v: f"-${-v:.2f}"),
    "CHF 1234.5": (AMOUNTS, lambda v: f"CHF {v:.2f}"),
}


@pytest.mark.parametrize("form", NUMBERS)
def test_numbers_are_read_as_they_are_written(form):
    values, write = NUMBERS[form]
    words = pd.DataFrame({"x": [write(value) for value in values]})
    (plan,) = plan_columns(words)
    assert plan.kind is Kind.NUMBER
    assert plan.form.replace(" ", "") == form.replace(" ", "")
    np.testing.assert_allclose(conform(words, (plan,))["x"], values, rtol=1e-12)
    # In another form nothing is read: neither another unit nor other marks.
    other = pd.DataFrame({"x": ["1;5", "12 lb", "1.2.3", "free"]})
    assert conform(other, (plan,))["x"].isna().all()


@pytest.mark.parametrize(
    ("words", "example", "first"),
    [
        (["1,234", "5,678"] * 9, "1,234.5", 1234.0),
        (["1,234", "5,678"] * 9, "1.234,5", 1.234),
        (["$45,000", "$52,500"] * 9, "1,234.5", 45_000.0),
        # Another writer may have meant thousandths.
        (["61,17", "1.234"] * 9, "1.234,5", 61.17),
    ],
)
def test_numbers_with_two_readings_are_named_with_the_option(words, example, first):
    (plan, _) = plan_columns(pd.DataFrame({"x": words, "y": np.arange(len(words))}))
    assert plan.kind is Kind.DROPPED
    assert "two ways" in plan.note
    assert "--written" in plan.note
    frame = pd.DataFrame({"x": words})
    (plan,) = plan_columns(frame, written=(example,))
    assert conform(frame, (plan,))["x"][0] == first


def test_files_of_two_writers_are_not_mixed():
    mixed = pd.DataFrame({"x": ["1.5", "2,25"] * 9, "y": np.arange(18)})
    assert plan_columns(mixed)[0].kind is Kind.DROPPED


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y %H:%M", "%d %b %Y", "%B %d, %Y"])
def test_dates_are_read_as_they_are_written(form):
    words = pd.DataFrame({"day": DAYS.dt.strftime(form)})
    (plan,) = plan_columns(words)
    assert plan.kind is Kind.DATE
    found, true = conform(words, (plan,)), conform(pd.DataFrame({"day": DAYS}), (plan,))
    columns = list(found) if "%H" in form else list(found)[:4]
    pd.testing.assert_frame_equal(found[columns], true[columns])


def test_dates_with_two_readings_are_named_with_the_option():
    words = pd.DataFrame({"day": ["3/4/2024", "5/6/2024"] * 9, "y": np.arange(18)})
    assert "two ways" in plan_columns(words)[0].note
    (plan, _) = plan_columns(words, written=("31/12/2024",))
    assert conform(words, (plan,))["day month sin"][0] == np.sin(2 * np.pi * 4 / 12)


@pytest.mark.parametrize("example", ["12.5", "1-234", "1/2/2024", ""])
def test_examples_must_be_known(example):
    with pytest.raises(InputError, match="no example of a way to write"):
        Settings("y", Column("t"), written=(example,))


@pytest.fixture(scope="module")
def table():
    label = RNG.integers(0, 2, N)
    words = np.array([["rain", "grey", "storm", "wind"], ["sun", "warm", "bright", "beach"]])
    return pd.DataFrame(
        {
            "said": [f"{' '.join(RNG.choice(words[k], 4))} {number}" for number, k in enumerate(label)],
            "where": [RNG.normal(size=3) + 2 * k for k in label],
            "price": [german(f"{v:.2f}") for v in AMOUNTS],
            "again": [german(f"{v:.2f}") for v in AMOUNTS],
            "label": label,
            "when": np.arange(N) * 3 // N,
        }
    )


def test_texts_lists_and_forms_are_kept_with_the_model(table, tmp_path):
    result = adapt_frame(table, Settings("label", Column("when"), windows=ByValue(), n_generated=0))
    plans = {plan.column: plan for plan in result.checked.prepared.plans}
    assert [plans[name].kind.value for name in ("said", "where", "price", "again")] == [
        "text",
        "list of numbers",
        "number",
        "dropped",
    ]
    assert plans["again"].note == "the same as 'price' in every row"
    save_run(result, summarise(result), tmp_path / "RUN")
    predictor = load_run(tmp_path / "RUN").predictor
    found = predictor.predict_table(table_of(table[table["when"] == 2].reset_index(drop=True)))
    assert (found["prediction"].to_numpy() == result.predictions["prediction"].to_numpy()).all()
    # The words alone tell the classes apart.
    alone = table.drop(columns=["where", "price", "again"])
    told = adapt_frame(alone, Settings("label", Column("when"), windows=ByValue(), n_generated=0)).predictions
    assert (told["prediction"].to_numpy() == table["label"][told["row"]].to_numpy()).mean() > 0.95
    with pytest.raises(InputError, match=r"'price' cannot be read as numbers such as 1234,5"):
        predictor.predict(table.assign(price="12.5 kg"))
    with pytest.raises(InputError, match="'where' cannot be read as lists"):
        predictor.predict(table.assign(where=[[1.0]] * N))
