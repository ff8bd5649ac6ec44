"""The site in Chromium, without a screen: a server on this machine, and a browser that reaches nothing else."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="the tests of the site need selenium: pip install 'whygrad[test]'")

from selenium.webdriver.common.by import By  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None:
    pytest.skip("the tests of the site need Chromium and its driver: apt-get install chromium chromium-driver",
                allow_module_level=True)

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1500,950"]


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".wasm": "application/wasm",
                      ".js": "text/javascript", ".mjs": "text/javascript", ".gz": "application/octet-stream"}
    is_down = False

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        if Handler.is_down:
            self.close_connection = True
            return
        super().do_GET()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@contextmanager
def started(profile: Path) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_script_timeout(180)
    yield driver
    driver.quit()


def wait(condition: Callable[[], Any], seconds: float = 180) -> Any:
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "it did not come in time"
        time.sleep(0.03)
    return found


class Page:
    """The playground in a browser."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def js(self, text: str, *arguments: Any) -> Any:
        return self.browser.execute_script(text, *arguments)

    def find(self, selector: str) -> Any:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[Any]:
        return list(self.browser.find_elements(By.CSS_SELECTOR, selector))

    address = ""

    def open(self, address: str) -> Page:
        self.address = self.address or address
        self.browser.get("about:blank")
        self.browser.get(address)
        wait(lambda: self.js("return window.playground && window.playground.editor.text !== ''"))
        return self

    def result(self) -> dict[str, Any]:
        """What the run that was begun gives."""
        return dict(wait(lambda: self.js("return playground.runner.busy ? null : playground.result")))

    def run(self, program: str) -> dict[str, Any]:
        self.begin(program)
        return self.result()

    def begin(self, program: str) -> None:
        wait(lambda: not self.js("return playground.runner.busy"))
        self.js("playground.result = null; playground.editor.text = arguments[0];"
                "document.getElementById('run').click()", program)

    def prefer(self, scheme: str) -> None:
        """ "light" or "dark"."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def resize(self, width: int) -> None:
        """A phone of this width; 0 for the window as it was."""
        phone = {"width": width, "height": 844, "deviceScaleFactor": 2, "mobile": True}
        self.browser.execute_cdp_cmd(*(("Emulation.setDeviceMetricsOverride", phone) if width else
                                       ("Emulation.clearDeviceMetricsOverride", {})))

    def faint_texts(self) -> list[Any]:
        """Contrast, text and element of what is hard to read (faint.js)."""
        return list(self.js((Path(__file__).parent / "faint.js").read_text()))

    @property
    def output(self) -> str:
        return str(self.js("return document.getElementById('output').textContent"))

    @property
    def status(self) -> str:
        return str(self.find("#status").text)
