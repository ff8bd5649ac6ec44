"""The documentation as it was built: its links, its catalogue, and a box in Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from chromium import Page, served, started, wait
from selenium.webdriver.common.keys import Keys
from site_building import ROOT, built_site

from whygrad.why.categories import DESCRIPTIONS

SITE = built_site()
PAGES = sorted(path for path in SITE.rglob("*.html") if "play" not in path.parts)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(SITE) as base:
        yield base


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with started(tmp_path_factory.mktemp("profile")) as driver:
        yield Page(driver)


def test_every_link_leads_somewhere() -> None:
    broken = []
    texts = {path: path.read_text() for path in PAGES}
    for path, text in texts.items():
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            file, _, part = link.partition("#")
            if file.startswith(("http:", "https:", "data:")):
                continue
            to = (path.parent / file).resolve() if file else path
            to = to / "index.html" if to.is_dir() else to
            if not to.exists() or (part and to in texts and f'id="{part}"' not in texts[to]):
                broken.append((path.name, link))
    assert broken == []
    assert len(PAGES) > 30


def test_nothing_is_fetched_from_elsewhere() -> None:
    """Links may lead out; scripts, styles and pictures come from the folder."""
    for path in [*PAGES, SITE / "play/index.html"]:
        assert re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?//[^"]*"', path.read_text()) == [], path


def test_the_catalogue_has_all_categories_and_most_with_a_program() -> None:
    text = (SITE / "catalogue.html").read_text()
    headings = re.findall(r'<h2 id="([^"]+)">', text)
    assert headings == ["what-do-you-see", *DESCRIPTIONS]
    entries = dict(zip(headings[1:], text.split("<h2 ")[2:], strict=True))
    # Some need several processes or bfloat16 and say so, one says that nothing was seen; all others can be run here.
    elsewhere = {name for name, entry in entries.items() if "not run in this page" in entry} | {"not-seen"}
    assert {name for name, entry in entries.items() if "<whygrad-box>" not in entry} == elsewhere
    assert len(elsewhere) < 12
    assert {name for name, entry in entries.items() if "<figure" not in entry} == {"not-seen"}
    # The list at the top leads to each that has an answer of its own.
    linked = set(re.findall(r'href="#([^"]+)"', text.partition('id="accumulation-missing"')[0]))
    ranks = {path.parent.name for path in (ROOT / "tests/for_torch/rank_programs").glob("*/*.answer")}
    assert set(DESCRIPTIONS) - linked <= ranks | {"not-seen", "grad-assigned"}


def test_the_four_articles_can_be_run() -> None:
    assert (SITE / "seeds.html").read_text().count("<whygrad-box>") == 16


def test_the_reference_has_functions_methods_layers_and_optimizers() -> None:
    for name, entries in {"torch": 500, "tensor": 500, "functional": 100, "nn": 120, "optim": 20}.items():
        assert (SITE / f"reference/{name}.html").read_text().count("<h3") >= entries, name


def test_no_page_waits_for_a_font_or_a_library(page: Page, address: str) -> None:
    page.browser.get(f"{address}/index.html")
    assert {name for name in page.js("return performance.getEntriesByType('resource').map((e) => e.name)")
            if not name.startswith((address, "data:"))} == set()


def test_the_search_finds_a_section(page: Page, address: str) -> None:
    page.browser.get(f"{address}/course/03-backward.html")
    page.find("body").send_keys("/")
    page.browser.switch_to.active_element.send_keys("grad-accumulated")
    first = "const a = document.querySelector('#found a'); return a ? a.href : ''"
    wait(lambda: str(page.js(first)).endswith("catalogue.html#grad-accumulated"))
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    wait(lambda: page.browser.current_url.endswith("catalogue.html#grad-accumulated"))


def test_a_chapter_runs_where_it_stands(page: Page, address: str) -> None:
    page.browser.get(f"{address}/course/02-leaves.html")
    assert page.all("iframe") == []
    page.find("whygrad-box .whygrad-run").click()
    page.browser.switch_to.frame(wait(lambda: page.all("whygrad-box iframe"))[0])
    result: dict[str, Any] = wait(lambda: page.js("return window.playground && playground.result"))
    assert [answer["category"] for answer in result["answers"]] == ["non-leaf-no-retain"]
    assert page.output.startswith("True tensor([2., 2., 2.])")
    page.browser.switch_to.default_content()


def test_a_phone_scrolls_only_up_and_down(page: Page, address: str) -> None:
    page.resize(320)
    for path in PAGES:
        page.browser.get(f"{address}/{path.relative_to(SITE)}")
        assert page.js("return document.documentElement.scrollWidth") <= 320, path.name
    page.browser.get(f"{address}/course/02-leaves.html")
    page.find("whygrad-box .whygrad-run").click()
    page.browser.switch_to.frame(wait(lambda: page.all("whygrad-box iframe"))[0])
    wait(lambda: page.js("return window.playground && playground.result"))
    assert page.js("return document.documentElement.scrollWidth") <= page.js("return innerWidth")
    page.browser.switch_to.default_content()
    page.resize(0)


def test_no_text_is_too_faint(page: Page, address: str) -> None:
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        for path in PAGES:
            page.browser.get(f"{address}/{path.relative_to(SITE)}")
            assert page.faint_texts() == [], (scheme, path.name)
    page.prefer("light")


def test_every_page_can_be_found_its_way_in_without_a_mouse(page: Page, address: str) -> None:
    for path in PAGES:
        page.browser.get(f"{address}/{path.relative_to(SITE)}")
        assert page.js("return document.querySelectorAll('h1').length") == 1, path.name
        assert page.js("return [...document.images].filter((image) => !image.alt).length") == 0, path.name
        jumps = page.js("""const headings = document.querySelectorAll("main :is(h1, h2, h3)");
                           const levels = [...headings].map((heading) => Number(heading.localName[1]));
                           return levels.filter((level, i) => i && level > levels[i - 1] + 1).length""")
        assert jumps == 0 or path.parent.name == "reference" or path.name == "reference.html", path.name
    page.browser.get(f"{address}/index.html")
    page.find("body").send_keys(Keys.TAB)
    assert page.js("return document.activeElement.className") == "skip"
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert page.browser.current_url.endswith("#main")


def test_the_service_worker_keeps_the_playground() -> None:
    text = (SITE / "service-worker.js").read_text()
    files = json.loads(re.search(r"const FILES = (.*);", text)[1])  # type: ignore[index]
    assert {"play/index.html", "play/main.js", "play/python.gz", "play/pyodide/pyodide.asm.wasm"} <= set(files)
    assert all((SITE / name).is_file() for name in files)
