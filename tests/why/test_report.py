"""`whygrad run --html`: one file, complete, escaped, written in one step, and only when asked for."""

from __future__ import annotations

import itertools
import json
import os
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from running import PROGRAM, piped

import whygrad as torch
from whygrad import nn
from whygrad.why import graph_layout, html_watch, report
from whygrad.why.answers import Answer, Edit, Explanation
from whygrad.why.graph_snapshot import measure, take_snapshot
from whygrad.why.locations import SourceLocation


def run(folder: Path, program: str, *options: str, name: str = "train.py") -> str:
    (folder / name).write_text(program)
    done = piped(folder, "--html=report.html", "--quiet", *options, name)
    assert "why/report.py" not in done.stderr, done.stderr
    return (folder / "report.html").read_text("utf-8")


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run(tmp_path_factory.mktemp("report"), PROGRAM)


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_it_needs_nothing_else(page: str) -> None:
    for tag, attributes in Elements(page).tags:
        assert tag not in ("link", "iframe", "object", "embed", "base", "img")
        assert "src" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        assert str(attributes.get("href", "#")).startswith("#")
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert "default-src 'none'" in page


def test_answers_stand_beside_the_source(page: str) -> None:
    assert page.count('class="answer"') == 2
    assert '<mark class="cause" data-answers="0">self.encoder(x).detach()</mark>' in page
    assert '<mark class="read" data-answers="0">model.encoder[<span class="d">0</span>].weight.grad</mark>' in page
    assert 'href="#f0-17"' in page
    assert 'id="f0-17"' in page
    assert "2 things to explain" in page
    assert "<title>whygrad: train.py</title>" in page


def test_the_graph_with_its_flow(page: str) -> None:
    data = data_of(page)
    (picture,) = data["pictures"]
    assert picture["title"] == "line 26: loss.backward(), pass 3 of 3"
    states = [name for name, _ in data["states"]]
    items = {item[1]: item for item in picture["items"]}
    assert states[items["model.hidden.weight"][3]] == "flows"
    assert states[items["model.gate.weight"][3]] == "zero"
    assert states[items["model.encoder.0.weight"][3]] == "cut"
    assert states[items["frozen"][3]] == "frozen"
    assert items["model.hidden.weight"][6] == [6, 6]
    assert items["model.hidden.weight"][7][0] > 0
    assert "d relu / d x = where(out <= 0, 0, g)" in [line for f in picture["formulas"] for line in f]
    boxes = [(label, kind) for label, kind, *_ in picture["boxes"]]
    assert ("Model", "") in boxes
    assert ("head", "Linear") in boxes
    assert ["train.py", 17, "self.encoder(x).detach()"] in picture["places"]
    for a, b, state, _, _ in picture["edges"]:
        assert 0 <= a < len(picture["spots"])
        assert 0 <= b < len(picture["spots"])
        assert 0 <= state < len(states)


def test_an_answer_has_its_path(page: str) -> None:
    data = data_of(page)
    number, items = data["answers"][0]
    labels = [data["pictures"][number]["items"][i][1] for i in items]
    assert "detach" in labels
    assert "model.encoder.0.weight" in labels
    assert "nll_loss" in labels
    assert "model.gate.weight" not in labels


HOSTILE = """</script><img src=x onerror=alert(1)><!--`"' &lt;"""


def test_everything_is_escaped() -> None:
    place = SourceLocation(f"/tmp/{HOSTILE}.py", 1, 1, 0, 3, HOSTILE, HOSTILE)
    answer = Answer(place, Explanation(HOSTILE, HOSTILE, HOSTILE, HOSTILE, [place], [HOSTILE], Edit(HOSTILE, 1, HOSTILE)))
    watch = html_watch.HtmlWatch()
    x = torch.ones(2, requires_grad=True)
    picture = take_snapshot((x * 2).sum().grad_fn)
    for item in picture.items:
        item.label = item.detail = HOSTILE
    calls = [graph_layout.Box(HOSTILE, HOSTILE, 0, 0, 2**62)]
    watch.latest_drawn[None] = html_watch.DrawnBackward(picture, calls, None)
    text = report.page([answer], watch, HOSTILE, HOSTILE)
    elements = Elements(text)
    assert not [tag for tag, _ in elements.tags if tag == "img"]
    assert [tag for tag, _ in elements.tags].count("script") == 2
    assert text.count("</script>") == 2
    assert HOSTILE in " ".join(elements.text)
    assert data_of(text)["pictures"][0]["items"][0][1] == HOSTILE


def test_hostile_source(tmp_path: Path) -> None:
    program = (f"# {HOSTILE}\nimport torch\nx = torch.ones(2)\nw = torch.ones(2, requires_grad=True)\n"
               f"(w * x).sum().backward()\nprint(x.grad, {HOSTILE!r})\n")
    elements = Elements(run(tmp_path, program, name="a<b>&c.py"))
    assert not [tag for tag, _ in elements.tags if tag == "img"]
    assert [tag for tag, _ in elements.tags].count("script") == 2


@pytest.mark.parametrize(("program", "words"), [
    ("print(1)\n", "nothing to explain"),
    ("import sys\nsys.exit(4)\n", "the program exited with 4"),
    ("import torch\nraise KeyError('<b>')\n", "KeyError: &#x27;&lt;b&gt;&#x27;"),
    ("import torch\nw = torch.ones(2, requires_grad=True)\ny = w * 2\ny.backward()\n", "non-scalar-backward"),
    ("import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()\nloss.backward()\n",
     "graph-freed"),
    (("import torch, os\nw = torch.ones(2)\n(w * torch.ones(2, requires_grad=True)).sum().backward()\n"
     "w.grad\nos.remove(__file__)\n"), "never-required-grad"),
])
def test_every_ending(program: str, words: str, tmp_path: Path) -> None:
    assert words in run(tmp_path, program)


def test_the_programs_own_result_stands(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM + "import sys; sys.exit(7)\n")
    bare, told = piped(tmp_path, "--quiet", "train.py"), piped(tmp_path, "--quiet", "--html=r.html", "train.py")
    assert (bare.returncode, bare.stdout, bare.stderr) == (told.returncode, told.stdout, told.stderr)


def test_an_option_and_its_value_may_be_two_arguments(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import sys\nprint(sys.argv)\n")
    done = piped(tmp_path, "--html", "r.html", "--json", "a.json", "--only", "detach", "train.py", "--html", "x")
    assert done.stdout == "['train.py', '--html', 'x']\n", done.stderr
    assert (tmp_path / "r.html").exists()
    assert json.loads((tmp_path / "a.json").read_text()) == []
    assert piped(tmp_path, "--html").returncode == 2


def test_where_it_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('ran')\n")
    for path, words in (("nowhere/r.html", "there is no folder"), (".", "is a folder")):
        done = piped(tmp_path, f"--html={path}", "train.py")
        assert done.returncode == 2
        assert words in done.stderr
        assert "ran" not in done.stdout
    (tmp_path / "gone.py").write_text("import os, shutil\nshutil.rmtree('sub')\nprint('ran')\n")
    (tmp_path / "sub").mkdir()
    done = piped(tmp_path, "--html=sub/r.html", "gone.py")
    assert done.returncode == 0
    assert "whygrad: --html: can't write" in done.stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('ran')\n")
    (tmp_path / "r.html").write_text("")
    (tmp_path / "r.html").chmod(0o400)
    assert piped(tmp_path, "--html=r.html", "train.py").returncode == 2


def test_it_follows_a_program_to_another_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    run(tmp_path, "import os\nos.chdir('sub')\n")
    assert not list((tmp_path / "sub").iterdir())


class Watched:
    """A TracingWatch for the time of a block."""

    def __enter__(self) -> html_watch.HtmlWatch:
        self.watch = html_watch.HtmlWatch()
        self.watch.start()
        return self.watch

    def __exit__(self, *_: object) -> None:
        self.watch.stop()


def test_the_record_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_watch, "MAX_OPS", 50)
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    with Watched() as watch:
        for _ in range(5):
            x = torch.ones(2, requires_grad=True)
            for _ in range(100):
                x = x * 1.5
            model(x).sum().backward()
    (found,) = watch.drawn_backwards()
    assert sum(item.kind == "op" for item in found.snapshot.items) == 50
    assert found.snapshot.left_out == 1
    assert found.number == watch.counted(found) == 5
    assert not found.snapshot.numbers
    assert "left out" in report.page([], watch)
    scope = {"torch": torch, "x": torch.ones(2, requires_grad=True)}
    with Watched() as watch:
        for i in range(40):
            exec(compile(f"(x * 2).sum().backward()  # {i}", f"<place {i}>", "exec"), scope)
    assert len(watch.latest_drawn) <= html_watch.MAX_SNAPSHOTS
    assert len(watch.drawn_backwards()) <= html_watch.MAX_SNAPSHOTS


def test_looking_takes_no_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_watch, "FREE", -1.0)
    x = torch.ones(2, requires_grad=True)
    with Watched() as watch:
        for _ in range(3):
            (x * 2).sum().backward()
    (found,) = watch.drawn_backwards()
    assert found.number == 1
    assert watch.counted(found) == 3


def test_threads_and_backwards_within_backwards() -> None:
    from threading import Thread

    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    failed: list[BaseException] = []

    def another(g: Any) -> None:
        with torch.enable_grad():
            (model[0].weight * 2).sum().backward()

    def work() -> None:
        try:
            for _ in range(20):
                y = model(torch.ones(3, 2))
                y.register_hook(another)
                y.sum().backward()
        except BaseException as error:
            failed.append(error)

    with Watched() as watch:
        threads = [Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failed
    assert len(watch.drawn_backwards()) == 2
    assert "Linear" in report.page([], watch)


def test_variables_that_resist_being_looked_at() -> None:
    class Shy(nn.Module):
        def named_parameters(self, *args: Any, **kwargs: Any) -> Any:
            raise RuntimeError("do not look")

    shy, x = Shy(), torch.ones(2, requires_grad=True)
    with Watched() as watch:
        (x * 2).sum().backward()
    assert len(watch.drawn_backwards()) == 1
    del shy


def test_modules_that_fail_leave_no_trace() -> None:
    class Broken(nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("no")

    linear = nn.Linear(2, 2)
    with Watched() as watch:
        with pytest.raises(ValueError, match="no"):
            nn.Sequential(linear, Broken())(torch.ones(2))
        linear(torch.ones(2)).sum().backward()
        assert not watch.calls._stack()
    assert [box.label for box in watch.drawn_backwards()[0].calls] == ["Linear"]


def test_a_large_graph_is_laid_out_quickly() -> None:
    x = w = torch.ones(2, requires_grad=True)
    for _ in range(10_000):
        x = x * w
    picture = take_snapshot(x.sum().grad_fn)
    began = time.process_time()
    placed = graph_layout.arrange(picture)
    assert time.process_time() - began < 3
    ops = [spot for spot in placed.items if picture.items[spot.item].kind == "op"]
    assert len(ops) == 10_001
    assert max(spot.x for spot in ops) - min(spot.x for spot in ops) < 30  # a chain is straight


def test_nothing_overlaps() -> None:
    torch.manual_seed(0)
    model = nn.TransformerEncoderLayer(8, 2, 16)
    with Watched() as watch:
        model(torch.randn(3, 2, 8)).sum().backward()
    (found,) = watch.drawn_backwards()
    placed = graph_layout.arrange(found.snapshot, found.calls)
    assert len(placed.boxes) > 3
    by_row: dict[tuple[int, float], list[graph_layout.PlacedItem]] = {}
    for spot in placed.items:
        by_row.setdefault((spot.parent, spot.y), []).append(spot)
    for row in by_row.values():
        row.sort(key=lambda spot: spot.x)
        for left, right in itertools.pairwise(row):
            assert left.x + left.width <= right.x + 0.01


def test_measures() -> None:
    tiny = torch.full((4,), 1e-30)
    assert measure(tiny).norm == pytest.approx(2e-30)
    assert measure(torch.zeros(3)).state == "zero"
    assert measure(torch.tensor([1.0, float("nan")])).state == "nan"
    assert measure(torch.tensor([1.0, float("inf")])).bad == 1
    assert measure(None) is None
    assert measure([None, torch.ones(4), None]).norm == 2.0
    assert measure(torch.zeros(0)).size == 0
    assert measure(torch.tensor([3 + 4j])).norm == pytest.approx(5)
