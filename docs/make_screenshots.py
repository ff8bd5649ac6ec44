"""Make the pictures of this folder anew: `python docs/make_screenshots.py`.

Needs the test tools (`pip install -e '.[test]'`) and Debian's packages chromium and chromium-driver.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

DOCS = Path(__file__).resolve().parent
SCRIPT = DOCS / "puzzle.py"

TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; padding: 26px; background: #e9ebee; width: max-content; }}
main {{ background: #15191f; border-radius: 9px; box-shadow: 0 6px 24px rgb(0 0 0 / .25); padding: 0 22px 18px; }}
.bar {{ height: 34px; display: flex; align-items: center; gap: 8px; color: #8b949e; font: 12px system-ui, sans-serif; }}
.bar i {{ width: 11px; height: 11px; border-radius: 50%; background: #3a414b; }}
.bar span {{ margin: auto; padding-right: 57px; }}
pre {{ margin: 0; font: 13px/1.42 "DejaVu Sans Mono", ui-monospace, monospace; color: #d7dce2; }}
</style><main><div class="bar"><i></i><i></i><i></i><span>{title}</span></div><pre>{code}</pre></main>"""

# The colours that answers use, on a dark ground.
THEME = TerminalTheme((21, 25, 31), (215, 220, 226), [
    (21, 25, 31), (240, 138, 93), (134, 201, 155), (226, 176, 74), (108, 178, 240), (197, 155, 224), (99, 207, 194),
    (215, 220, 226)])


def run(*options: str) -> str:
    """Standard error of the example under `whygrad run`, coloured."""
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "96", "TERM": "xterm-256color", "PYTHONWARNINGS": "ignore",
                   "PYTHONPATH": str(DOCS.parent / "src")}
    done = subprocess.run([sys.executable, "-m", "whygrad", "run", *options, SCRIPT.name], cwd=DOCS, env=environment,
                          capture_output=True, text=True, check=True)
    return done.stderr


def terminal_page(folder: Path) -> Path:
    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=96, force_terminal=True, file=nowhere)
        console.print(Text.assemble(("$ ", "dim"), ("whygrad run puzzle.py", "bold")))
        console.print(Text.from_ansi(run()))
    code = console.export_html(theme=THEME, inline_styles=True, code_format="{code}")
    page = folder / "terminal.html"
    page.write_text(TERMINAL.format(title="whygrad run puzzle.py", code=code), "utf-8")
    return page


def open_browser(folder: Path) -> Any:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 f"--user-data-dir={folder}/profile"):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def shoot(browser: Any, name: str, element: str = "") -> None:
    """Write a picture of an element, or of what the window shows, in 256 colours: a third of the size, the same to the eye."""
    from PIL import Image

    browser.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));")
    path = DOCS / f"{name}.png"
    if element:
        browser.find_element(By.CSS_SELECTOR, element).screenshot(str(path))
    else:
        browser.save_screenshot(str(path))
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")


def report_pages(browser: Any, folder: Path) -> None:
    report = folder / "report.html"
    run("--quiet", f"--html={report}")
    browser.set_window_size(1500, 1000)
    browser.get(f"{report.as_uri()}#answer-1")
    shoot(browser, "report")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    browser.get("about:blank")
    browser.get(report.as_uri())
    browser.find_element(By.CSS_SELECTOR, "[data-do=large]").click()
    browser.find_element(By.CSS_SELECTOR, "[data-do=open]").click()
    at = browser.execute_script("""
        const d = whygradDrawing, s = d.scene, at = s.shown.find((at) => s.texts(at.spot)[0] === "relu");
        return [(at.x + at.w / 2) * d.view.k + d.view.x, (at.y + at.h / 2) * d.view.k + d.view.y]""")
    canvas = browser.find_element(By.ID, "canvas")
    x, y = at[0] - canvas.size["width"] / 2, at[1] - canvas.size["height"] / 2
    ActionChains(browser).move_to_element_with_offset(canvas, int(x), int(y)).perform()
    shoot(browser, "report-dark")


DRAW = """
import matplotlib
matplotlib.use("Agg")
import whygrad as torch
from whygrad import nn

torch.manual_seed(0)
weight, bias = torch.randn(3, requires_grad=True), torch.zeros(1, requires_grad=True)
x, y = torch.randn(3), torch.tensor(1.0)
prediction = torch.tanh((weight * x).sum() + bias)
loss = ((prediction - y) ** 2).sum() + 0.1 * weight.detach().norm()
torch.graph(loss, flow=True).save("graph.svg")

model = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(16, 16), nn.Sigmoid())], nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
with torch.flow(model):
    for _ in range(80):
        optimizer.zero_grad()
        ((model(torch.randn(32, 16)) - 1) ** 2).mean().backward()
        optimizer.step()
torch.plot_flow(model).figure.savefig("flow.png", dpi=90)
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "draw.py"
        program.write_text(DRAW)
        environment = {**os.environ, "PYTHONPATH": str(DOCS.parent / "src")}
        subprocess.run([sys.executable, str(program)], cwd=DOCS, check=True, env=environment)
        browser = open_browser(Path(folder))
        try:
            browser.set_window_size(1000, 1400)
            browser.get(terminal_page(Path(folder)).as_uri())
            shoot(browser, "terminal", "body")
            report_pages(browser, Path(folder))
        finally:
            browser.quit()


if __name__ == "__main__":
    main()
