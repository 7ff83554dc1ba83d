"""The page as text: what it says, what it escapes, what it leaves out."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import random
import re
from html.parser import HTMLParser

import pytest

from driftfit.app.report.page import build_page

VOID = {"meta", "link", "img", "input", "br"}
SECTIONS = [
    "verdict",
    "compared",
    "past",
    "evidence",
    "journey",
    "map",
    "along",
    "steps",
    "moved",
    "pictures",
    "confidence",
    "settings",
    "redo",
]


class Reader(HTMLParser):
    """Collects elements and complains about tags that do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if "script" not in self.open and "style" not in self.open:
            self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.wrong
    assert not reader.open
    return reader


def ids(reader: Reader) -> list[str]:
    return [found["id"] for _, found in reader.elements if found.get("id")]


def outside_references(page: str) -> list[str]:
    """Addresses that a browser would fetch or follow, apart from data and places on the page."""
    found = []
    for tag, attributes in read(page).elements:
        for name, value in attributes.items():
            if name in {"src", "href", "srcset", "action", "poster", "data", "xlink:href", "style", "background"}:
                found.append((tag, name, value or ""))
    style = re.search(r"<style>(.*?)</style>", page, re.S)
    assert style is not None
    in_style = re.findall(r"url\([^)]*\)|@import[^;]*", style.group(1))
    return [f"{tag} {name}={value}" for tag, name, value in found if not value.startswith(("data:", "#"))] + in_style


def test_sections_come_in_the_promised_order(image_result):
    places = [place for place in ids(read(build_page([image_result]))) if place in SECTIONS]
    assert places == SECTIONS


def test_the_page_is_well_formed_and_names_are_used_once(image_result, result):
    for page in (build_page([image_result]), build_page([image_result, result])):
        names = ids(read(page))
        assert len(names) == len(set(names))


def test_plain_words_come_first(result):
    words = re.sub(r"[ \n]+", " ", " ".join(read(build_page([result])).text))
    order = [
        "Use the new model",
        "temperature most",
        "learns from the last window alone",
        "Expect 78 %",
        "label 50 rows",
        "What was compared",
        "all labels",
        "Past windows",
        "never named",
        "What the answer rests on",
        "is estimated to be right on more",
        "Every step is small",
    ]
    places = [words.index(part) for part in order]
    assert places == sorted(places)
    assert "off by 3.4\u202f% overall" in words


@pytest.mark.parametrize(
    ("kept", "trusted", "decision", "expected"),
    [
        ("adapted", True, "adapt", "Use the new model</h2>"),
        ("adapted", False, "get labels here", "Use the new model with care</h2>"),
        ("source", False, "do not adapt", "Use the model of all labels</h2>"),
        (None, None, "get labels here", "No answer was recorded</h2>"),
    ],
)
def test_headlines(result, kept, trusted, decision, expected):
    result |= {"kept": kept, "trusted": trusted}
    result["verdict"]["decision"] = decision
    assert expected in build_page([result])


def test_names_with_html_stay_text(result, image_result):
    hostile = "</style></script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
    for page in (build_page([_poisoned(image_result, hostile)]), build_page([_poisoned(result, hostile)] * 2)):
        reader = read(page)
        assert [tag for tag, _ in reader.elements].count("script") == 1
        assert all(found["src"].startswith("data:image/png") for tag, found in reader.elements if tag == "img")
        assert not any(name.startswith("on") for _, found in reader.elements for name in found)
        assert "onerror=alert(2)" in "".join(reader.text)


def _poisoned(value, hostile):
    """The same result with every text made hostile."""
    if isinstance(value, dict):
        return {key: _poisoned(item, hostile) if key != "kept" else item for key, item in value.items()}
    if isinstance(value, list):
        return [_poisoned(item, hostile) for item in value]
    return value + hostile if isinstance(value, str) else value


def test_the_check_for_escaping_can_fail():
    assert [tag for tag, _ in read("<p><script>1</script></p>").elements] == ["p", "script"]


def test_unicode_and_broken_text(result):
    result["data"]["label"] = "目的 \U0001f600 \ud800 \x00 \x1b[31m"
    page = build_page([result])
    page.encode("utf-8")
    assert "目的 \U0001f600 ? \ufffd \ufffd[31m" in page


def test_nothing_is_fetched(image_result, result):
    result["redo"] = "see https://example.org/docs and http://example.org"
    for page in (build_page([image_result]), build_page([result]), build_page([result, image_result])):
        assert outside_references(page) == []
        without_text = re.sub(r">[^<]*<", "><", re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.S))
        assert "http://" not in without_text
        assert "https://" not in without_text


def test_the_check_for_references_can_fail():
    page = '<style>a{background:url(x.png)}</style><img src="http://a/b.png"><a href="#top">t</a>'
    assert outside_references(page) == ["img src=http://a/b.png", "url(x.png)"]


def test_policy_names_exactly_this_style_and_script(result):
    page = build_page([result])
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = policy.group(1).replace("&#39;", "'")
    assert rules.startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in rules
    for kind in ("style", "script"):
        content = re.search(rf"<{kind}>(.*?)</{kind}>", page, re.S)
        assert content is not None
        digest = base64.b64encode(hashlib.sha256(content.group(1).encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in rules


def test_every_drawing_speaks(image_result):
    reader = read(build_page([image_result]))
    drawings = [found for tag, found in reader.elements if tag == "svg"]
    assert len(drawings) > 8
    assert all(found.get("aria-hidden") == "true" or found.get("aria-label") for found in drawings)
    assert all(found.get("alt") for tag, found in reader.elements if tag == "img")
    labelled = {found["for"] for tag, found in reader.elements if tag == "label"}
    assert "step" in labelled


@pytest.mark.parametrize("missing", ["none", "null", "wrong"])
def test_any_part_may_be_missing(image_result, missing):
    image_result["images"]["steps"] = image_result["images"]["steps"][:2]
    for key in image_result:
        broken = copy.deepcopy(image_result)
        if missing == "none":
            del broken[key]
        else:
            broken[key] = None if missing == "null" else 7
        read(build_page([broken]))
        read(build_page([broken, {}]))


def test_parts_of_parts_may_be_missing(image_result):
    rng = random.Random(3)
    image_result["plan"] = {key: value[:9] for key, value in image_result["plan"].items()}
    image_result["images"] = {"shape": [1, 2], "steps": [{"position": 0.0, "generated": False, "tiles": [[0.0, 1.0]]}]}
    for _ in range(120):
        broken = copy.deepcopy(image_result)
        for _ in range(rng.randint(1, 6)):
            _break(broken, rng)
        read(build_page([broken]))


def test_parts_of_parts_of_a_comparison_may_be_missing(result):
    rng = random.Random(4)
    for _ in range(40):
        broken = copy.deepcopy(result)
        for _ in range(4):
            _break(broken, rng)
        read(build_page([broken, broken]))


def _break(value, rng):
    """Replace something somewhere by a value of the wrong kind."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = rng.choice(keys)
        inner = value[key]
        if not isinstance(inner, dict | list) or not inner or rng.random() < 0.25:
            value[key] = rng.choice(
                [None, "text", -1.5, 1e300, [], {}, [None], True, [[1, "x"]], float("nan"), 10**400]
            )
            return
        value = inner


def test_missing_parts_leave_their_section_out(result):
    for key, place in [("features", "moved"), ("map", "map"), ("confidence", "confidence"), ("backtest", "past")]:
        assert place in ids(read(build_page([result])))
        without = {name: item for name, item in result.items() if name != key}
        if key == "features":
            without["plan"] = None
        if key == "map":
            without["distances"] = None
        assert place not in ids(read(build_page([without])))
    assert "pictures" not in ids(read(build_page([result])))


def test_an_empty_result_is_a_page():
    reader = read(build_page([{}]))
    assert "No answer was recorded" in "".join(reader.text)
    with pytest.raises(ValueError, match="at least one result"):
        build_page([])


@pytest.mark.slow
def test_an_enormous_result_stays_below_six_megabytes(image_result):
    rng = random.Random(0)
    n = 1000
    image_result["domains"] = [
        {"name": "d" * 500 + str(i), "n_samples": 1, "generated": i % 2 == 1, "position": i / (n - 1)} for i in range(n)
    ]
    image_result["steps"] = [
        {"step": i, "shift": 1.0, "changed_fraction": 0.1, "mean_confidence": 0.5} for i in range(1, n)
    ]
    image_result["map"]["points"] = [[rng.random(), rng.random()] for _ in range(n)]
    image_result["distances"] = [[1.0] * n for _ in range(n)]
    image_result["class_shares"] = [{"position": i / (n - 1), "shares": [0.01] * 100} for i in range(n)]
    image_result["data"]["classes"] = ["k" * 1000 + str(i) for i in range(100)]
    image_result["features"] = [{"name": "f" * 1000, "share": 1e-4} for _ in range(10_000)]
    image_result["preprocessing"] = [{"column": "c" * 1000, "kind": "number", "note": "n" * 1000}] * 10_000
    image_result["plan"] = {
        "from": [[0, i] for i in range(20_000)],
        "to": [[1, i] for i in range(20_000)],
        "mass": None,
    }
    image_result["config"] = {f"key {i}": "v" * 5000 for i in range(5000)}
    tile = [rng.random() for _ in range(96 * 96)]
    image_result["images"] = {
        "shape": [96, 96],
        "steps": [{"position": i / (n - 1), "generated": False, "tiles": [tile] * 12} for i in range(n)],
    }
    page = build_page([image_result])
    assert len(page.encode()) < 6_000_000
    assert "120 of 1000 domains" in page
    assert len(build_page([image_result] * 20).encode()) < 6_000_000


def test_a_usual_page_is_small(image_result):
    assert len(build_page([image_result]).encode()) < 300_000


def test_the_page_depends_only_on_the_result(image_result):
    again = json.loads(json.dumps(image_result))
    assert build_page([image_result]) == build_page([again])


def test_comparison_puts_runs_side_by_side(make):
    one, two = make(), make(kept="source")
    two |= {"name": "runs & <b>two</b>", "seed": 5}
    two["config"]["method"] = "gst"
    reader = read(build_page([one, two]))
    words = " ".join(" ".join(reader.text).split())
    assert "Comparison of 2 runs" in words
    assert "Run 1" in words
    assert "runs & <b>two</b>" in words
    table = words[words.index("What was done differently") :]
    assert table.index("method") < table.index("goat") < table.index("gst") < table.index("seed")
    assert "windows" not in table[: table.index("Run 1", table.index("seed"))]


def test_the_diagnosis_and_every_remedy_are_on_the_page(result):
    own = {"name": "own <scale>", "score": 0.3, "gain": 0.2, "low": 0.1, "high": 0.3}
    tried = [{"name": "source", "score": 0.1}, own]
    struck = [{"name": "proportions", "reason": "the rows differ otherwise"}]
    found = {"best": "own <scale>", "tried": tried, "struck": struck, "failed": [{"name": "x", "reason": "no"}]}
    diagnosis = {"kind": "features move by themselves", "reasons": ["3 of 4 features move", "cannot be seen <b>"]}
    page = build_page([result | {"remedies": found, "check": {"diagnosis": diagnosis}}])
    assert "annot be seen &lt;b&gt;" in page
    assert "own &lt;scale&gt;" in page
    assert "0.2 (0.1 to 0.3)" in page
    assert "struck out: the rows differ otherwise" in page
    assert "could not run: no" in page
    for broken in (3, [], {"tried": 5, "struck": [None, {"name": 3}]}):
        build_page([result | {"remedies": broken, "check": broken}])
