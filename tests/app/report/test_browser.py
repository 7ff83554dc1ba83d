"""The page in a real browser, where this machine has chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from driftfit.app.report.page import build_page

playwright = pytest.importorskip(
    "playwright.sync_api", reason="needs playwright: pip install -c constraints.txt '.[test]'"
)

pytestmark = pytest.mark.slow

PHONE, DESKTOP = (390, 844), (1280, 900)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_browser() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser_path() -> str:
    """The chromium of this machine, if it has one."""
    found = find_browser()
    if found is None:
        pytest.skip("no chromium on this machine: apt-get install chromium, or another browser of that family")
    return found


@dataclass
class Seen:
    """A page in the browser and everything it said or asked for."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def outside(self) -> list[str]:
        """Requests other than for the file itself and for data inside of it."""
        return [address for address in self.requests if not address.startswith(("file:", "data:"))]


Show = Callable[..., Seen]


@pytest.fixture(scope="module")
def browser(browser_path: str) -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        # Playwright starts every browser headless and with a profile of its own.
        started = driver.chromium.launch(executable_path=browser_path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Show]:
    contexts = []

    def open_page(
        html: str,
        size: tuple[int, int] = DESKTOP,
        scheme: str = "light",
        script: bool = True,
        offline: bool = True,
        unfold: bool = True,
    ) -> Seen:
        file = tmp_path / f"page{len(contexts)}.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            java_script_enabled=script,
            offline=offline,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        seen = Seen(page)
        page.on("console", lambda message: seen.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on("request", lambda request: seen.requests.append(request.url))
        page.goto(file.as_uri())
        if unfold:
            page.evaluate("() => document.querySelectorAll('details.wide').forEach((one) => { one.open = true; })")
        return seen

    yield open_page
    for context in contexts:
        context.close()


def keep(seen: Seen, name: str, tmp_path: Path, clip: dict[str, float] | None = None) -> bytes:
    """Take a screenshot."""
    content = seen.page.screenshot(path=tmp_path / f"report-{name}.png", full_page=True, clip=clip)
    assert isinstance(content, bytes)
    return content


def overflow(seen: Seen) -> list[str]:
    """Elements that stick out of the window; those inside of a scrolling box may."""
    found = seen.page.evaluate(
        """() => {
            const wide = document.documentElement.clientWidth + 1;
            const out = document.documentElement.scrollWidth > wide ? ["page"] : [];
            for (const element of document.querySelectorAll("body *")) {
                if (element.closest(".scroll, .skip, .tip")) continue;
                const box = element.getBoundingClientRect();
                const sticks = box.width && (box.right > wide || box.left < -1);
                if (sticks) out.push(element.tagName + "." + element.className);
            }
            return out;
        }"""
    )
    assert isinstance(found, list)
    return found


def marked(seen: Seen) -> list[str]:
    """The steps that are marked as chosen anywhere on the page."""
    found = seen.page.evaluate("() => [...new Set([...document.querySelectorAll('.on')].map((e) => e.dataset.step))]")
    assert isinstance(found, list)
    return found


def first_traveller(seen: Seen) -> tuple[float, float]:
    x, y = seen.page.evaluate(
        "() => ['cx', 'cy'].map((n) => Number(document.querySelector('svg.plan .traveller').getAttribute(n)))"
    )
    return x, y


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_looks_right(show, image_result, result, make, size, scheme, tmp_path):
    for name, results in {"odd": [image_result], "two": [result, image_result], "empty": [{}]}.items():
        seen = show(build_page(results), size, scheme)
        assert overflow(seen) == [], name
        assert seen.errors == []
        assert seen.outside == []
    seen = show(build_page([make(images=True, tame=True)]), size, scheme)
    seen.page.locator("#step").evaluate("e => { e.value = 3; e.dispatchEvent(new Event('input')); }")
    where = f"{'phone' if size == PHONE else 'desktop'}-{scheme}"
    whole = seen.page.evaluate("() => document.documentElement.scrollHeight")
    background = seen.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(250, 249, 246)" if scheme == "light" else "rgb(20, 23, 28)")
    # In parts, because a picture of the whole page is too small to read anywhere.
    part = 2400
    for number, top in enumerate(range(0, whole, part), 1):
        clip = {"x": 0, "y": top, "width": size[0], "height": min(part, whole - top)}
        content = keep(seen, f"{where}-{number}", tmp_path, clip)
        assert 10_000 < len(content) < 400_000


def test_comparison_looks_right(show, make, tmp_path):
    one, two = make(tame=True), make(tame=True, kept="source")
    one["name"], two["name"] = "goat", "gst"
    two["config"]["method"] = "gst"
    two["accuracy"]["new"] = {"estimate": 0.712, "low": 0.665, "high": 0.759, "estimator": "carried labels"}
    for point in two["accuracy"]["path"]:
        point["estimate"] -= 0.13 * point["position"]
    seen = show(build_page([one, two]))
    assert (seen.errors, seen.outside, overflow(seen)) == ([], [], [])
    assert len(keep(seen, "comparison", tmp_path)) < 400_000


def test_the_slider_moves_by_arrow_keys_and_changes_what_is_shown(show, image_result):
    seen = show(build_page([image_result]))
    words, slider = seen.page.locator("#step-words"), seen.page.locator("#step")
    assert marked(seen) == ["0"]
    assert "2019 (labelled source)" in words.inner_text()
    before = first_traveller(seen)
    slider.focus()
    seen.page.keyboard.press("ArrowRight")
    seen.page.keyboard.press("ArrowRight")
    assert slider.input_value() == "2"
    assert marked(seen) == ["2"]
    assert "2020 (given)" in words.inner_text()
    assert "2020 (given)" in slider.get_attribute("aria-valuetext")
    assert first_traveller(seen) != before
    assert seen.page.locator("#step-count").inner_text() == "2 of 8"
    seen.page.keyboard.press("End")
    assert marked(seen) == ["8"]
    # At the end of the path a sample has arrived where its line ends.
    line = seen.page.locator("svg.plan line.flow").first
    ends = [float(line.get_attribute(name)) for name in ("x2", "y2")]
    assert first_traveller(seen) == pytest.approx(ends, abs=0.01)
    assert seen.errors == []


def test_a_click_on_a_chart_chooses_its_step(show, result):
    seen = show(build_page([result]))
    seen.page.locator(".band[data-step='5']").first.click()
    assert marked(seen) == ["5"]
    assert seen.page.locator("#step").input_value() == "5"


def test_hover_shows_words_inside_the_window(show, result):
    for size in (PHONE, DESKTOP):
        seen = show(build_page([result]), size)
        mark = seen.page.locator("svg.map circle.given").last
        mark.scroll_into_view_if_needed()
        mark.hover()
        tip = seen.page.locator("#tip.shown")
        assert "2023 (given)" in tip.inner_text()
        box = tip.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= size[0]


def test_play_walks_to_the_end_and_stops(show, result):
    seen = show(build_page([result]))
    seen.page.locator("#step").evaluate("e => { e.value = 6; e.dispatchEvent(new Event('input')); }")
    seen.page.locator("#play").click()
    assert seen.page.locator("#play").get_attribute("aria-pressed") == "true"
    seen.page.wait_for_function("() => document.getElementById('play').getAttribute('aria-pressed') === 'false'")
    assert marked(seen) == ["8"]


def test_everything_can_be_reached_by_keyboard(show, result):
    seen = show(build_page([result]))
    reached = []
    for _ in range(40):
        seen.page.keyboard.press("Tab")
        reached.append(
            seen.page.evaluate(
                "() => document.activeElement.id || document.activeElement.className || document.activeElement.tagName"
            )
        )
    wanted = ["skip", "SUMMARY", "play", "step", "redo-0", "copy needs-script"]
    places = [reached.index(name) for name in wanted]
    assert places == sorted(places)
    seen.page.locator("#steps").locator("xpath=..").focus()
    seen.page.keyboard.press("Enter")
    assert not seen.page.locator("#steps-table").is_visible()


def test_the_answer_comes_first_and_what_it_rests_on_is_folded_away(show, result):
    seen = show(build_page([result]), unfold=False)
    assert seen.page.get_by_text("Expect 78 % of today's rows to be right").is_visible()
    assert seen.page.locator("#past").is_visible()
    for name in ("#map", "#steps-table", ".reasons:not(.warned)"):
        assert not seen.page.locator(name).first.is_visible()
    seen.page.locator("#journey").click()
    assert seen.page.locator("#map").is_visible()


def test_readable_without_script(show, image_result):
    seen = show(build_page([image_result]), script=False)
    assert seen.page.get_by_role("heading", name="Use the new model").is_visible()
    assert not seen.page.locator("#step").is_visible()
    assert not seen.page.locator(".copy").is_visible()
    assert seen.page.locator("figure > svg").count() >= 9
    assert all(drawing.is_visible() for drawing in seen.page.locator("figure > svg").all())
    assert seen.page.locator("#steps-table").is_visible()
    assert overflow(seen) == []


def test_prints_with_everything_unfolded(show, result):
    seen = show(build_page([result]), scheme="dark", unfold=False)
    seen.page.emulate_media(media="print")
    assert seen.page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not seen.page.locator("#step").is_visible()
    seen.page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert seen.page.locator("#steps-table").is_visible()
    seen.page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    printed = seen.page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    assert 2 <= printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") <= 10


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    """An address on this machine and the paths that were asked of it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_policy_stops_what_does_not_belong_to_the_page(show, result, listener):
    address, asked = listener
    foreign = f'<img src="{address}/a.png"><script>document.title = "broken into"</script></main>'
    page = build_page([result])
    assert "</main>" in page
    seen = show(page.replace("</main>", foreign), offline=False)
    assert asked == []
    assert seen.page.title() == "events.parquet · driftfit"
    assert any("Content Security Policy" in error for error in seen.errors)


def test_the_records_can_fail(show, listener):
    address, asked = listener
    page = f'<body><img src="{address}/a.png"><p style="width:2000px">wide</p><script>broken(</script></body>'
    seen = show(page, offline=False)
    assert asked == ["/a.png"]
    assert seen.outside == [f"{address}/a.png"]
    assert "page" in overflow(seen)
    assert any("Unexpected" in error for error in seen.errors)
