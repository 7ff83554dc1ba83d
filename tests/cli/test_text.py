"""Tables that fit the terminal."""

import pytest

from driftfit.cli.text import printable, text_table


def test_wide_tables_are_folded_and_numbers_stay_whole():
    rows = [["a name of many words " * 5, "1.5", "99 %"], ["x" * 90, "12.25", "1 %"]]
    text = text_table(["step", "shift", "share"], rows, width=50)
    assert max(len(line) for line in text.splitlines()) <= 50
    assert "12.25" in text
    assert "".join(text.split()).count("x") >= 90
    lines = text.splitlines()
    assert lines[0].rstrip().endswith("share")
    assert lines[1].endswith("99 %")


def test_several_columns_of_words_share_the_space():
    text = text_table(["a", "b"], [["u" * 100, "v" * 100]], words=(0, 1), width=60)
    assert max(len(line) for line in text.splitlines()) <= 60


def test_narrow_tables_stay_as_they_are():
    assert text_table(["a", "b"], [["x", "1"]], width=80) == "a  b\nx  1"


@pytest.mark.parametrize("text", ["[bold]x[/bold]", "größe 📏", "a|b"])
def test_printable_text_is_left_alone(text):
    assert printable(text) == text


def test_terminals_are_not_steered():
    assert printable("a\x1b]0;title\x07\r\nb") == "a ]0;title   b"


def test_spans_are_folded_between_their_numbers():
    lines = text_table(
        ["step", "shift"], [["0.1828179451..0.3791476787 -> 0.3840017864..0.5922022918", "0.5"]], width=25
    )
    assert max(map(len, lines.splitlines())) <= 25
    assert all(number in lines for number in ("0.1828179451", "0.3791476787", "0.3840017864", "0.5922022918"))
