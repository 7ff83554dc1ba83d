"""Pictures of terminal and report for the docs, from the made-up table; needs chromium and playwright.

Run it in an empty folder: ``python docs/screenshots.py``. It writes to ``docs/images``.
"""

from __future__ import annotations

import html
import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parent / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
COMMANDS = (
    "driftfit demo --table events.parquet",
    "driftfit backtest events.parquet --label churned --order month",
    "driftfit adapt events.parquet --label churned --order month -o run/",
)
SCHEMES = {"light": ("#ffffff", "#1c1f23", "#6b7280"), "dark": ("#16181c", "#e6e6e6", "#9aa3ad")}
SIZES = {"desktop": (1200, 1780), "phone": (390, 1500)}


def terminal(commands: tuple[str, ...]) -> str:
    """What the commands print in a terminal of 110 columns, the commands in bold."""
    shown = []
    for command in commands:
        arguments = [sys.executable, "-m", *command.split()]
        environment = {**os.environ, "COLUMNS": "110"}
        done = subprocess.run(arguments, capture_output=True, text=True, check=True, env=environment)
        shown.append(f"<b>$ {html.escape(command)}</b>\n{html.escape(done.stdout)}")
    return "\n".join(shown)


def page(text: str, scheme: str) -> str:
    """A page that looks like a terminal."""
    back, ink, soft = SCHEMES[scheme]
    style = f"margin:0;padding:18px 22px;background:{back};color:{ink};font:14px/1.45 'DejaVu Sans Mono',monospace"
    wrap = "white-space:pre-wrap;width:112ch;margin:0"
    head = f"<meta charset=utf-8><style>b{{color:{soft}}}</style>"
    return f"{head}<body style=\"{style}\"><pre style='{wrap}'>{text}</pre>"


def main() -> None:
    text = terminal(COMMANDS)
    browser_path = next(found for name in BROWSERS if (found := shutil.which(name)))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        for scheme in SCHEMES:
            seen = browser.new_page(viewport={"width": 900, "height": 200})
            seen.set_content(page(text, scheme))
            seen.screenshot(path=IMAGES / f"terminal-{scheme}.png", full_page=True)
            for where, (width, height) in SIZES.items():
                seen = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                seen.goto(Path("run/report.html").absolute().as_uri())
                seen.screenshot(path=IMAGES / f"report-{where}-{scheme}.png")
        browser.close()


if __name__ == "__main__":
    main()
