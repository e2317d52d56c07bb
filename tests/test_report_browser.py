"""Does the page hold in a real browser: nothing leaves, nothing is said, charts show, tables sort, paper cuts no row?

Needs Chromium; an accessibility checker too, where `AXE_CORE` names its `axe.min.js`.
"""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pypdf
import pytest

from case_on_disk import hostile_case, plain_case
from kvforensics.case_reader import open_case
from kvforensics.report_job import ReportOptions, write_notices, write_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
AXE = os.environ.get("AXE_CORE")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync"]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name, make in (("plain", plain_case), ("hostile", hostile_case), ("long", lambda at: plain_case(at, tenants=30))):
        (folder / name).mkdir()
        case = make(folder / name)
        found[name] = folder / f"{name}.html"
        write_report(ReportOptions(str(case)), str(found[name]), "html")
    write_notices(str(folder / "plain" / "case"), str(folder / "notices"), "html")
    found["notice"] = min((folder / "notices").iterdir())
    return found


@pytest.mark.parametrize("name", ["plain", "hostile", "notice"])
@pytest.mark.parametrize("script", [True, False])
def test_no_request_leaves_and_nothing_is_said_on_the_console(
    browser: Any, pages: dict[str, Path], name: str, *, script: bool
) -> None:
    context = browser.new_context(java_script_enabled=script)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(pages[name].as_uri())
    assert said == []
    assert asked == [pages[name].as_uri()]
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_every_chart_is_seen_by_pixels_and_by_role(browser: Any, pages: dict[str, Path], scheme: str, width: int) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(pages["plain"].as_uri())
    charts = page.get_by_role("img")
    assert charts.count() == 3
    for number in range(3):
        chart = charts.nth(number)
        box = chart.bounding_box()
        assert box["width"] > 250
        assert box["height"] > 60
        assert len(set(_pixels(chart.screenshot()))) > 8
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def _pixels(png: bytes) -> list[bytes]:
    from matplotlib.image import imread

    image = (imread(io.BytesIO(png), format="png") * 7).astype("uint8")
    return [pixel.tobytes() for row in image[::3] for pixel in row[::3]]


def test_tables_sort_by_number_and_by_text_with_the_keyboard(browser: Any, pages: dict[str, Path]) -> None:
    page = browser.new_page()
    page.goto(pages["plain"].as_uri())
    table = page.locator("#findings-list")
    read = "(t) => Array.from(t.tBodies[0].rows, r => r.cells[6].textContent)"
    original = table.evaluate(read)
    button = table.get_by_role("button", name="Line", exact=True)
    for direction in ("ascending", "descending"):
        button.focus()
        page.keyboard.press("Enter")
        lines = [int(text.replace(",", "")) for text in table.evaluate(read)]
        assert lines == sorted(lines, reverse=direction == "descending")
        assert table.locator(f"th[aria-sort={direction}]").count() == 1
    page.keyboard.press("Enter")
    assert table.evaluate(read) == original
    page.close()


def test_what_is_folded_on_the_screen_is_on_paper_also_where_no_script_runs(browser: Any, pages: dict[str, Path]) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["long"].as_uri())
    folded = page.locator("details:has(#tenants-details)")
    assert folded.get_attribute("open") is None
    assert not page.locator("#tenants-details").is_visible()
    printed = pypdf.PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True)))
    assert any("Wheretheevidencelies" in re.sub(r"\s+", "", sheet.extract_text()) for sheet in printed.pages)
    context.close()


def test_paper_shows_every_row_whole_and_repeats_the_head_of_a_table(browser: Any, pages: dict[str, Path]) -> None:
    page = browser.new_page()
    page.goto(pages["long"].as_uri())
    printed = pypdf.PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True)))
    texts = [re.sub(r"\s+", "", sheet.extract_text()) for sheet in printed.pages]
    case = open_case(pages["long"].parent / "long" / "case")
    digests = [row["sha256"] for batch in case.findings(["sha256"]) for row in batch.to_pylist()]
    # A digest takes several lines of its cell: a row that was cut would leave it on two sheets.
    assert [d for d in digests if sum(d in text for text in texts) != 1] == []
    holding = [text for text in texts if any(d in text for d in digests)]
    assert len(holding) > 3
    assert all("SHA-256oftherecord" in text for text in holding)
    page.close()


@pytest.mark.skipif(AXE is None, reason="AXE_CORE does not name axe.min.js")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["long", "hostile", "notice"])
def test_an_accessibility_checker_finds_nothing(browser: Any, pages: dict[str, Path], name: str, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(pages[name].as_uri())
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    page.evaluate(Path(str(AXE)).read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    assert [(v["id"], v["nodes"][0]["html"]) for v in found["violations"]] == []
    context.close()
