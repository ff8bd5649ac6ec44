"""The playground in Chromium: what somebody does who pastes a program."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import Handler, Page, served, started, wait
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from site_building import ROOT, built_site

SITE = built_site()

DOUBLED = """import torch

w = torch.ones(2, requires_grad=True)
for step in range(2):
    loss = (w * 3).sum()
    loss.backward()
print(w.grad)
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(SITE) as base:
        yield f"{base}/play/"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with started(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="module")
def opened(browser: Any, address: str) -> Page:
    page = Page(browser).open(address)
    page.result()
    return page


@pytest.fixture
def page(opened: Page) -> Page:
    """The playground with a Python that is ready; nothing runs."""
    if not opened.js("return 'playground' in window"):
        opened.open(opened.address)
        opened.result()
    return opened


def test_the_first_visit_explains_its_first_program(opened: Page) -> None:
    assert [answer["category"] for answer in opened.js("return playground.result.answers")] == ["detach"]
    assert "line 11" in opened.find(".answer .causes").text
    assert opened.find("#verdict").text.startswith("1 thing to explain")
    assert [entry for entry in opened.browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_an_answer_stands_under_its_line_and_its_fix_is_applied(page: Page) -> None:
    page.run(DOUBLED)
    assert page.output == "tensor([6., 6.])\n"
    assert page.find(".answer .category").text == "grad-accumulated"
    assert page.find(".cm-line.read-line").text == "print(w.grad)"
    page.find(".answer .cause").click()
    assert page.js("return playground.editor.view.state.doc.lineAt(playground.editor.view.state.selection.main.head).number") == 6
    page.js("playground.result = null; document.querySelector('.apply').click()")
    page.result()
    assert "w.grad = None" in page.js("return playground.editor.text")
    assert page.output == "tensor([3., 3.])\n"
    assert page.all(".answer") == []
    assert page.find(".changed").text.startswith("Changed. Before: 1 to explain; now: 0.")


def test_an_endless_program_is_stopped_and_the_next_runs(page: Page) -> None:
    page.run("print('first')")
    page.js("return playground.runner.spare.ready.then(() => 0)")
    page.begin("import torch\nprint('begun', flush=True)\nwhile True:\n    pass\n")
    wait(lambda: "begun" in page.output)
    page.find("#stop").click()
    assert page.status == "stopped"
    began = time.monotonic()
    page.run("import torch\nprint(torch.ones(2))")
    assert page.output == "tensor([1., 1.])\n"
    assert time.monotonic() - began < 10, "the spare worker was ready"


def test_a_syntax_error_names_its_line(page: Page) -> None:
    assert page.run("import torch\nx = (1,\n")["code"] == 1
    assert 'File "program.py", line 2' in page.output
    assert "SyntaxError: '(' was never closed" in page.output
    assert page.find("#verdict").text == "The program ended with an error. line 2"
    assert page.find(".cm-line.failure").text == "x = (1,"


def test_a_module_that_is_not_there(page: Page) -> None:
    page.run("import torchvision")
    assert "No module named 'torchvision'" in page.output
    assert "This page has Python, NumPy and whygrad (as torch), and no torchvision." in page.output
    assert "pip install '.[torch]' torchvision" in page.output


def test_a_program_that_needs_too_much_memory(page: Page) -> None:
    page.run("import torch\ntorch.zeros(100_000, 100_000)")
    assert "line 2, in <module>" in page.output
    assert "play/" not in page.output, "the traceback has the program's lines only"
    assert "This program needs more memory than a page may have." in page.output
    assert page.run("import torch\nprint(torch.ones(1))")["code"] == 0


def test_a_hundred_megabytes_of_output(page: Page) -> None:
    page.run("for i in range(100_000):\n    print('x' * 1000)\nprint('the end')")
    assert "is not shown" in page.output
    assert len(page.output) < 1_000_000


def test_output_is_streamed_in_order(page: Page) -> None:
    page.begin("import sys, time\nprint('out')\nprint('err', file=sys.stderr)\nprint('again', flush=True)\ntime.sleep(1)\n"
               "print('late')")
    wait(lambda: "again" in page.output)
    assert page.output == "out\nerr\nagain\n"
    page.result()
    assert page.output == "out\nerr\nagain\nlate\n"


PLOT = """import matplotlib.pyplot as plt
import torch

x = torch.linspace(0, 6, 50)
plt.plot(x, x.sin(), label="sin")
plt.legend()
plt.show()
figure, (left, right) = plt.subplots(1, 2)
left.hist(torch.randn(100))
right.imshow(torch.rand(4, 4))
try:
    left.violinplot([1])
except NotImplementedError as error:
    print(error)
"""


def test_plots_are_shown(page: Page) -> None:
    page.run(PLOT)
    images = page.all("#output img")
    assert len(images) == 3
    wait(lambda: all(page.js("return arguments[0].naturalWidth", image) > 100 for image in images))
    assert page.output.startswith("matplotlib's Axes.violinplot is not in this page")


def test_a_program_reaches_no_network(page: Page) -> None:
    page.run("for name in ('js', 'pyodide_js', 'pyodide.http', 'pyodide.code'):\n    try:\n        __import__(name)\n"
             "        print(name)\n    except ImportError:\n        pass\n")
    assert page.output == ""


def test_the_steps_go_forward_and_back(page: Page) -> None:
    page.run(DOUBLED)
    page.find("#tab-steps").click()
    page.find(".controls button:last-child").click()
    assert page.find(".step").text.startswith("backward")
    assert "|g|" in page.find(".value-of-step").text
    page.find(".controls [aria-label='Previous step']").click()
    assert page.find(".step").text.startswith("forward step 3 of 11, line 5 (w * 3).sum()")
    assert "sum scalar 6" in page.find(".value-of-step").text
    page.find("#tab-flow").click()
    assert page.all(".value-of-step") == []


def test_a_node_lights_its_line_and_a_line_its_nodes(page: Page) -> None:
    page.run(DOUBLED)
    page.browser.switch_to.frame(page.find("#flow iframe"))
    wait(lambda: page.js("return window.whygradDrawing && whygradDrawing.canvas.clientHeight > 100"))
    x, y = page.js("""const d = whygradDrawing, at = [...d.scene.shown].find((s) => d.scene.texts(s.spot)[0] === "sum");
                      return [(at.x + at.w / 2) * d.view.k + d.view.x - d.canvas.clientWidth / 2,
                              (at.y + 9) * d.view.k + d.view.y - d.canvas.clientHeight / 2];""")
    ActionChains(page.browser).move_to_element_with_offset(page.find("#canvas"), int(x), int(y)).perform()
    page.browser.switch_to.default_content()
    wait(lambda: [line.text for line in page.all(".cm-line.lit-line")] == ["loss = (w * 3).sum()"], 5)
    line = page.all(".cm-line")[4]
    ActionChains(page.browser).move_to_element(line).perform()
    page.browser.switch_to.frame(page.find("#flow iframe"))
    wait(lambda: set(page.js("const d = whygradDrawing; return [...d.lit].map((n) => d.scene.texts(n)[0])")) == {"sum", "mul"}, 5)
    page.browser.switch_to.default_content()


def test_it_is_used_by_keyboard(page: Page) -> None:
    page.js("playground.result = null; playground.editor.text = 'print(40 + 2)'; playground.editor.view.focus()")
    ActionChains(page.browser).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()
    page.result()
    assert page.output == "42\n"
    ActionChains(page.browser).send_keys(Keys.ESCAPE, Keys.TAB).perform()
    assert page.js("return document.activeElement.id") == "output"
    ActionChains(page.browser).send_keys(Keys.TAB, Keys.ARROW_RIGHT).perform()
    assert page.find("#tab-steps").get_attribute("aria-selected") == "true"
    page.find("#tab-flow").click()


def test_every_control_has_a_name(page: Page) -> None:
    unnamed = page.js("""
        const controls = [...document.querySelectorAll("button, select, input, a, iframe, [role=tabpanel], [role=region]")];
        const named = (e) => e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.textContent.trim() || e.title;
        return controls.filter((e) => !named(e)).map((e) => e.outerHTML)""")
    assert unnamed == []


def test_the_tab_key_goes_through_the_page_in_the_order_of_work(page: Page) -> None:
    page.run(DOUBLED)
    page.js("document.querySelector('header a').focus()")
    visited = []
    for _ in range(7):
        visited.append(page.js("const e = document.activeElement; return e.id || e.textContent.slice(0, 12)"))
        ActionChains(page.browser).send_keys(Keys.TAB).perform()
    assert visited[:5] == ["whygrad", "gallery", "run", "share", "line 7"]
    assert page.js("return getComputedStyle(document.activeElement).outlineStyle") != "none" or page.js(
        "return document.activeElement.classList.contains('cm-content')")


def test_an_example_chosen_while_another_program_runs_is_run_after_it(page: Page) -> None:
    page.begin("import time\ntime.sleep(1)\nprint('the first')")
    page.js("const list = document.getElementById('gallery'); list.value = '16'; list.dispatchEvent(new Event('change'))")
    wait(lambda: page.js("return playground.result && playground.result.answers.length && !playground.runner.busy"))
    assert [answer["category"] for answer in page.result()["answers"]] == ["non-leaf-no-retain"]


def test_no_text_is_too_faint(page: Page) -> None:
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        page.run(DOUBLED)
        assert page.faint_texts() == [], scheme
        page.find("#tab-steps").click()
        page.find(".controls button:last-child").click()
        assert page.faint_texts() == [], scheme
        for name in ("flow", "report"):
            page.find(f"#tab-{name}").click()
            page.browser.switch_to.frame(page.find(f"#{name} iframe"))
            wait(lambda: page.js("return document.readyState === 'complete'"))
            assert page.faint_texts() == [], (scheme, name)
            page.browser.switch_to.default_content()
        page.find("#tab-flow").click()
        page.run("x = (1,")
        assert page.faint_texts() == [], scheme
    page.prefer("light")
    page.js("document.getElementById('status').style.color = 'color-mix(in srgb, var(--panel) 60%, black)';"
            "document.getElementById('status').textContent = 'faint'")
    assert [text for _, text, _ in page.faint_texts()] == ["faint"], "the check can fail"
    page.js("document.getElementById('status').style.color = ''")


def test_dark_mode(page: Page) -> None:
    def background() -> str:
        return str(page.js("return getComputedStyle(document.body).backgroundColor"))

    light = background()
    page.prefer("dark")
    assert background() != light
    page.prefer("light")


def test_a_phone_scrolls_only_up_and_down(page: Page) -> None:
    page.run(DOUBLED)
    for width in (320, 390):
        page.resize(width)
        assert page.js("return document.documentElement.scrollWidth") == width
        assert page.find(".answer").size["width"] <= width
        for name in ("flow", "steps", "report"):
            page.js("document.getElementById(arguments[0]).click()", f"tab-{name}")
            assert page.js("return document.documentElement.scrollWidth") == width, name
    page.js("document.getElementById('tab-flow').click()")
    page.resize(0)


def test_the_gallery_has_questions_puzzles_and_findings(page: Page) -> None:
    programs = json.loads((SITE / "play/gallery.json").read_text())
    assert len({program["name"] for program in programs if program["group"] == "Four questions"}) == 4
    assert sum(program["group"] == "Twenty puzzles" for program in programs) == 20
    findings = {folder.name.replace("-", " ") for folder in (ROOT / "tests/why/programs").iterdir()} - {"ok"}
    listed = {program["name"] for program in programs if program["group"] == "What the audit finds"}
    assert listed <= findings
    assert len(findings - listed) < 5, "what the page cannot run"
    page.js("playground.result = null; const list = document.getElementById('gallery'); list.value = '16';"
            "list.dispatchEvent(new Event('change'))")
    assert [answer["category"] for answer in page.result()["answers"]] == ["non-leaf-no-retain"]


def share(page: Page, program: str) -> str:
    """The link that the page gives."""
    page.js("history.replaceState(null, '', location.pathname); playground.editor.text = arguments[0];"
            "document.getElementById('share').click()", program)
    return str(wait(lambda: page.browser.current_url if "#code=" in page.browser.current_url else ""))


def test_a_shared_link_does_not_run_by_itself(page: Page, address: str) -> None:
    link = share(page, "print('shared ∂')")
    page.open(link)
    wait(lambda: page.js("return playground.marks.ready"))
    assert page.js("return playground.editor.text") == "print('shared ∂')"
    assert page.output == ""
    assert page.status == "ready" or "read it before you run it" in page.status
    page.js("document.getElementById('run').click()")
    page.result()
    assert page.output == "shared ∂\n"
    assert page.browser.current_url == link, "it can be loaded again"
    page.find(".cm-content").send_keys("#")
    assert "#code=" not in page.browser.current_url, "it is another program now"


def test_no_link_runs_its_program(page: Page, address: str) -> None:
    """Neither one that asks for it as a box of our own pages does, nor one that is opened where the playground is open."""
    link = share(page, "print('from elsewhere')")
    page.open(link.replace("#", "?embed&run#"))
    wait(lambda: page.js("return playground.marks.ready"))
    assert (page.output, page.status) == ("", "Press Run.")
    page.open(address)
    page.result()
    page.js("location.hash = arguments[0]", link.partition("#")[2])
    wait(lambda: page.js("return playground.editor.text") == "print('from elsewhere')")
    time.sleep(0.5)
    assert "from elsewhere" not in page.output
    assert page.status == "A program from a link: read it before you run it."


def test_a_page_of_another_site_embeds_programs(page: Page, address: str, tmp_path: Path) -> None:
    link = share(page, "print('in a frame')").replace("#", "?embed#")
    box, frame = re.findall(r"```html\n(.*?)```", (ROOT / "docs/embedding.md").read_text(), re.S)
    place = "https://your.host/whygrad/play/"
    frame = frame.replace(f"{place}?embed#code=...", link)
    (tmp_path / "index.html").write_text(f"<!doctype html><title>A blog</title>{frame}{box.replace(place, address)}")
    with served(tmp_path) as elsewhere:
        page.browser.get(elsewhere.replace("127.0.0.1", "localhost"))
        for selector, printed in {"iframe": "in a frame\n", "whygrad-box iframe": "tensor([True, True])\n"}.items():
            if selector != "iframe":
                page.find("whygrad-box button").click()
            page.browser.switch_to.frame(wait(lambda selector=selector: page.all(selector))[0])
            wait(lambda: page.js("return window.playground && playground.marks.ready"))
            assert page.output == "", "it waits to be run"
            assert page.find("#open").is_displayed()
            page.find("#run").click()
            page.result()
            assert page.output == printed
            page.browser.switch_to.default_content()
        severe = [entry for entry in page.browser.get_log("browser") if entry["level"] == "SEVERE"]
        assert [entry for entry in severe if "favicon" not in str(entry)] == []


def test_it_works_without_a_network_after_the_first_visit(opened: Page, address: str) -> None:
    page = opened.open(address)
    page.browser.execute_async_script("const done = arguments[0]; navigator.serviceWorker.ready.then(() => done())")
    Handler.is_down = True
    try:
        page.open(address)
        assert page.result()["code"] == 0
        page.browser.get(address.replace("/play/", "/course/02-leaves.html"))
        assert page.find("h1").text.startswith("2. Leaves")
        assert page.js("return getComputedStyle(document.querySelector('header')).position") == "sticky", "with its style"
    finally:
        Handler.is_down = False


def test_no_request_left_the_origin(page: Page, address: str) -> None:
    asked = [json.loads(entry["message"])["message"] for entry in page.browser.get_log("performance")]
    own = address.removesuffix("play/")
    urls = {message["params"]["request"]["url"] for message in asked if message["method"] == "Network.requestWillBeSent"
            and message["params"]["documentURL"].startswith(own)}
    assert len(urls) > 10
    assert {url for url in urls if not url.startswith((own, "data:", "blob:", "about:", "chrome"))} == set()
