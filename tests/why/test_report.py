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


HOSTILE_NAMES = """
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        for number in range(12):
            self.register_parameter(f"{number}<img src=x onerror=alert(1)>`&", nn.Parameter(torch.ones(2)))

    def forward(self, x):
        first, *rest = self.parameters()
        return (x * first + sum(rest).detach()).sum()

def main(net):
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(torch.randn(3, 2)).backward("<img>" and None)
        optimizer.step()

main(Net())
"""


@pytest.mark.parametrize("steps", ["1", "8"])
def test_hostile_names(steps: str, tmp_path: Path) -> None:
    page = run(tmp_path, HOSTILE_NAMES.replace("STEPS", steps))
    elements = Elements(page)
    assert not [tag for tag, _ in elements.tags if tag == "img"]
    assert "11<img src=x onerror=alert(1)>`&" in " ".join(elements.text)
    assert verdict_of(page) == ("odd" if steps == "1" else "bad")


@pytest.mark.parametrize(("program", "words"), [
    ("print(1)\n", "nothing was seen: no backward pass ran"),
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


TRAINING = '''\
import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head({encode})


def main(net, steps):
    x, y = torch.randn(64, 4), torch.randint(0, 2, (64,))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    for step in range(steps):
        chosen = torch.randperm(64)[:16]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x[chosen]), y[chosen]){term}
        loss.backward()
        optimizer.step()
        scheduler.step()


main(Net(), {steps})
'''


def training(encode: str = "torch.tanh(self.encoder(x))", term: str = "", steps: int = 30) -> str:
    return TRAINING.format(encode=encode, term=term, steps=steps)


def header_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page[page.index("<header>"):page.index("<nav")])).strip()


def verdict_of(page: str) -> str:
    found = re.search(r'<span class="verdict (\w+)">', page)
    assert found is not None
    return found.group(1)


def count_of(page: str, words: str) -> int:
    found = re.search(rf"(\d+) {words}", header_of(page))
    return int(found.group(1)) if found else 0


def drawn_states(page: str) -> set[str]:
    data = data_of(page)
    return {data["states"][item[3]][0] for picture in data["pictures"] for item in picture["items"] if item[0] == "leaf"}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run(tmp_path_factory.mktemp("sound"), training())


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run(tmp_path_factory.mktemp("cut"), training("self.encoder(x).detach()"))


def test_a_sound_program_has_no_alarm_and_says_what_was_not_seen(sound: str) -> None:
    assert "nothing found wrong" in header_of(sound)
    assert verdict_of(sound) == "open"  # never green while checks had nothing to look at
    assert count_of(sound, "checks passed") == sound.count('<li class="passed">') > 10
    assert count_of(sound, "not seen") == sound.count('<li class="not-seen">') > 0
    assert drawn_states(sound) == {"flows"}
    assert 'class="answer' not in sound


def test_a_finding_agrees_with_the_drawing_and_the_check_list(cut: str) -> None:
    assert header_of(cut).startswith("whygrad train.py 1 thing to explain")
    assert verdict_of(cut) == "bad"
    assert "drawn without a gradient" not in header_of(cut)
    assert 'Concerns <code>encoder.weight</code>, <code>encoder.bias</code>' in cut
    data = data_of(cut)
    number, items = data["answers"][0]
    leaves = {item[1]: item for item in data["pictures"][number]["items"] if item[0] == "leaf"}
    assert {name: data["states"][item[3]][0] for name, item in leaves.items()} == {
        "net.encoder.weight": "cut", "net.encoder.bias": "cut", "net.head.weight": "flows", "net.head.bias": "flows"}
    assert {data["pictures"][number]["items"][i][1] for i in items} >= {"net.encoder.weight", "net.encoder.bias", "detach"}
    assert leaves["net.encoder.weight"][8] == "see answer 1"
    assert re.search(r'<li class="found">.*?every parameter that an optimizer holds gets a gradient.*?href="#answer-1"', cut)


@pytest.mark.parametrize(("program", "kind", "words", "leaves"), [
    # One step is too short for a finding; the drawing shows the cut all the same.
    (training("self.encoder(x).detach()", steps=1), "odd", "2 drawn without a gradient", {"cut", "flows"}),
    # The target's parameters are meant to stay apart.
    (training(term=" + 0.1 * (net.head.weight - teacher.weight.detach()).square().mean()").replace(
        "main(Net()", "teacher = nn.Linear(8, 2)\nmain(Net()"), "open", "1 cut off and in no optimizer", {"cut", "flows"}),
    # Without an optimizer nobody knows what was meant.
    (("import torch\nw, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)\n"
      "(w * v.detach()).sum().backward()\n"), "odd", "1 drawn without a gradient", {"cut", "flows"}),
    # What is cut off on one path is reached on another, in the same backward or in another one.
    (training(term=" + 0.01 * (net.head.weight - 0.9 * net.head.weight.detach()).square().sum()"), "open", "nothing found wrong",
     {"flows"}),
    (("import torch\ntorch.manual_seed(0)\na, b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)\n"
      "one, two = torch.optim.SGD(a.parameters(), 0.1), torch.optim.SGD(b.parameters(), 0.1)\nfor _ in range(12):\n"
      "    x = torch.randn(8, 2)\n    y = a(x)\n    two.zero_grad()\n    (b(y.detach()) - x[:, :1]).square().mean().backward()\n"
      "    two.step()\n    one.zero_grad()\n    b(y).square().mean().backward()\n    one.step()\n"),
     "open", "nothing found wrong", {"flows", "elsewhere"}),
])
def test_no_page_contradicts_itself(program: str, kind: str, words: str, leaves: set[str], tmp_path: Path) -> None:
    page = run(tmp_path, program)
    assert (verdict_of(page), drawn_states(page)) == (kind, leaves)
    assert words in header_of(page)


def test_odd_things_stand_apart() -> None:
    place = SourceLocation("/tmp/a.py", 1, 1, 0, 3, "", "x.y")
    odd = Answer(place, Explanation("strange", "odd-one", "It is odd.", odd=True))
    wrong = Answer(place, Explanation("wrong", "wrong-one", "It is wrong."))
    page = report.page([odd, wrong])
    assert "1 thing to explain 1 odd" in header_of(page)
    assert verdict_of(page) == "bad"
    assert page.index("It is wrong.") < page.index('<h2 id="odd">') < page.index("It is odd.")
    alone = report.page([odd])
    assert verdict_of(alone) == "odd"
    assert "nothing to explain" not in alone


def test_what_is_not_wanted_is_not_called_passed(tmp_path: Path) -> None:
    page = run(tmp_path, training("self.encoder(x).detach()"), "--only=nothing-like-it")
    assert verdict_of(page) == "odd"
    assert "nothing is shown 2 drawn without a gradient 1 found but not shown" in header_of(page)
    assert "are drawn cut off from the loss; no answer is about them: what was found is not shown here." in page
    assert not re.search(r'<li class="passed">[^/]*every parameter that an optimizer holds gets a gradient', page)


def test_charts_over_the_steps(sound: str) -> None:
    for name, title in (("loss", "Loss"), ("rate", "Learning rate"), ("gradient", "Gradient norm")):
        figure = sound[sound.index(f'<figure class="chart" id="chart-{name}">'):]
        figure = figure[:figure.index("</figure>")]
        assert f'<title id="chart-{name}-title">{title} over the steps' in figure
        assert 'role="img"' in figure
        (points,) = re.findall(r'<path class="curve line-0" d="(M[^"]+)"/>', figure.replace('d="M1 4h24"', ""))
        assert points.count("L") == 29
        rows = re.findall(r"<tr><td>[^<]*</td><td>(\d+)</td><td>([^<]+)</td></tr>", figure)
        assert (rows[0][0], rows[-1][0]) == ("1", "30")
        if name == "rate":
            assert "(logarithmic)" in figure
            assert (rows[0][1], rows[-1][1]) == ("0.1", "0.001")


def test_layers_are_sorted_by_how_far_they_move(cut: str, sound: str) -> None:
    rows = re.findall(r'<tr><th scope="row"><code>([\w.]+)</code>(.*?)</tr>', cut)
    assert [name for name, _ in rows][:2] == ["net.encoder.bias", "net.encoder.weight"]
    assert all("never got a gradient" in row and "answer 1" in row for _, row in rows[:2])
    for _, row in re.findall(r'<tr><th scope="row"><code>([\w.]+)</code>(.*?)</tr>', sound):
        assert row.count('<svg class="histogram"') == 2
        assert re.search(r"<title>gradient: from \S+ to \S+, mean", row)
    keys = [float(row[2]) for row in re.findall(r'<tr>.*?data-key="(.*?)".*?data-key="(.*?)".*?data-key="(.*?)"', sound)]
    assert len(keys) == 4
    assert keys == sorted(keys)


def test_the_run_is_described(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(training() + "import sys\nsys.exit(5)\n")
    piped(tmp_path, "--quiet", "--html=report.html", "train.py", "--rate", "a <b>")
    page = (tmp_path / "report.html").read_text("utf-8")
    entries = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    assert entries["program"].endswith("train.py")
    assert entries["arguments"] == "--rate &#x27;a &lt;b&gt;&#x27;"
    assert entries["ended"] == "the program exited with 5"
    assert entries["optimizer steps"] == "30: SGD (30 steps)"
    assert entries["backward passes"] == "30"
    assert entries["trained parameters"] == "4"
    assert re.fullmatch(r"[\d.]+ s", entries["duration"])
    assert re.match(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}$", entries["started"])
    assert re.match(r"whygrad \S+, Python 3\.\S+, NumPy \d", entries["versions"])


RECREATED = """
import torch
from torch import nn
net = nn.Linear(4, 1)
for epoch in range(40):
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    for step in range(3):
        optimizer.zero_grad()
        net(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()
"""


def test_optimizers_made_in_a_loop_are_one_line(tmp_path: Path) -> None:
    page = run(tmp_path, RECREATED)
    assert "optimizer-recreated" in page
    assert "SGD was made 40 times" in page
    for name in ("rate", "gradient"):
        figure = page[page.index(f'id="chart-{name}"'):]
        figure = figure[:figure.index("</figure>")]
        assert "line-0" in figure
        assert "line-1" not in figure
        assert "at step 1, " in figure
        assert "at step 120" in figure
    assert "SGD (3 steps) and 12 more" in page


def test_a_loss_that_is_not_finite_is_marked_where_the_answer_says(tmp_path: Path) -> None:
    page = run(tmp_path, training(term=" + (torch.log(torch.tensor(4.5 - step)) * net.head.weight.sum() * 1e-3)", steps=9))
    figure = page[page.index('id="chart-loss"'):]
    assert "the loss is not finite from step 6 on" in page
    assert "not finite from step 6<" in figure[:figure.index("</figure>")]
    assert page.count('<span class="remark">not finite</span>') == 4


def test_the_fix_can_be_copied(cut: str) -> None:
    assert 'data-copy="        return self.head(self.encoder(x))"' in cut


DEEP = """\
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(*[m for _ in range(100) for m in (nn.Linear(16, 16), nn.LayerNorm(16), nn.GELU())], nn.Linear(16, 1))
optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
for step in range(600):
    x = torch.randn(4, 16)
    loss = nn.functional.mse_loss(net(x) if step < 12 else net[-1](x), x.mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_report_of_a_hundred_layers_stays_small(tmp_path: Path) -> None:
    page = run(tmp_path, DEEP)
    assert len(page.encode()) < 1_500_000
    assert "402 parameters" in page
    assert "The 300 that move least and most are shown." in page
    assert page.count('<tr><th scope="row">') == 300


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
