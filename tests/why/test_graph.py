"""`graph(loss)` draws the graph, `plot_flow(model)` the gradients over steps."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import whygrad as torch
from whygrad import nn

SVG = "{http://www.w3.org/2000/svg}"


def texts(drawing: Any) -> list[str]:
    return [t.text for t in ElementTree.fromstring(drawing.svg).iter(f"{SVG}text") if t.text]


def edges(drawing: Any) -> list[dict[str, str]]:
    paths = ElementTree.fromstring(drawing.svg).iter(f"{SVG}path")
    return [dict(path.attrib) for path in paths if "C" in path.attrib["d"]]


def test_a_drawing_shows_ops_leaves_and_cuts(tmp_path: Path) -> None:
    weight, frozen = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    frozen.requires_grad_(False)
    loss = (weight * frozen + weight.exp().detach()).sum()
    drawing = torch.graph(loss)
    shown = texts(drawing)
    for words in ("sum", "add", "mul", "weight", "leaf (3,)", "detach", "frozen", "weight * frozen"):
        assert words in shown
    assert drawing.ops == 3
    assert drawing._repr_svg_() == drawing.svg
    assert str(drawing) == repr(drawing) != drawing.svg
    drawing.save(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text() == drawing.svg
    assert "3 operations" in repr(drawing)


def test_the_flow_is_drawn_without_touching_anything() -> None:
    a, b, unused = (torch.ones(3, requires_grad=True) for _ in range(3))
    loss = (a * 1000 + b * 0.001 + unused * 0).sum()
    before = torch.autograd.grad(loss, a, retain_graph=True)[0]
    drawing = torch.graph(loss, flow=True)
    widths = {float(edge["stroke-width"]) for edge in edges(drawing)}
    assert max(widths) > 3 * min(widths)
    assert {"flows", "zero"} <= {edge["class"].split()[1] for edge in edges(drawing)}
    assert a.grad is None
    assert torch.equal(torch.autograd.grad(loss, a)[0], before)


def test_leaves_are_coloured_by_the_gradient_they_have() -> None:
    x = torch.ones(2, requires_grad=True)
    loss = (x * 2).sum()
    assert 'class="item leaf unknown"' in torch.graph(loss).svg
    loss.backward()
    assert 'class="item leaf flows"' in torch.graph(loss).svg


def test_names_come_from_the_callers_variables() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    pair = [torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)]
    shown = texts(torch.graph((model(torch.ones(1, 2)) * pair[1]).sum()))
    assert "model.0.weight" in shown
    assert "pair[1]" in shown


def test_hostile_names_are_escaped() -> None:
    scope: dict[str, Any] = {"torch": torch, "</svg><script>alert(1)</script>": torch.ones(1, requires_grad=True)}
    scope["f"] = lambda: None
    exec("x = locals()['</svg><script>alert(1)</script>']; del x\n"
         "d = torch.graph(locals()['</svg><script>alert(1)</script>'] * 2)", scope)
    assert "<script>" not in scope["d"].svg
    assert "alert(1)</script>" in "".join(texts(scope["d"]))


def test_a_large_graph_is_cut_short() -> None:
    x = torch.ones(1, requires_grad=True)
    for _ in range(500):
        x = x + 1.0
    drawing = torch.graph(x, limit=100)
    assert drawing.ops == 100
    assert any("not drawn" in text for text in texts(drawing))


def test_several_outputs_custom_functions_and_in_place() -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = torch.ones(4, 4, requires_grad=True)
    a, b = x.clone().split(2)
    y = Twice.apply(a) + b.sort()[0]
    y[0] = 3.0
    drawing = torch.graph(y.sum(), flow=True)
    assert "Twice" in texts(drawing)
    assert "split" in texts(drawing)


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="does not require grad"):
        torch.graph(torch.ones(2))
    with pytest.raises(TypeError, match="takes a Tensor"):
        torch.graph(3)
    assert torch.graph(torch.ones(2, requires_grad=True)).ops == 0


def trained(steps: int) -> tuple[nn.Module, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1))
    model[0].bias.requires_grad_(False)
    with torch.flow(model) as recorded:
        for _ in range(steps):
            model.zero_grad()
            model(torch.randn(5, 3)).pow(2).mean().backward()
    model(torch.randn(5, 3)).sum().backward()  # not recorded any more
    return model, recorded


def test_the_flow_over_steps_is_recorded() -> None:
    model, recorded = trained(4)
    assert len(recorded) == 4
    assert list(recorded.norms) == [name for name, _ in model.named_parameters()]
    assert recorded.norms["0.bias"] == [None] * 4
    assert all(x is not None and x > 0 for x in recorded.norms["2.weight"])
    assert repr(recorded) == "<flow of 4 parameters over 4 backwards>"


def test_a_long_recording_is_thinned_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from whygrad.why import plots

    monkeypatch.setattr(plots, "MAX_STEPS", 8)
    _, recorded = trained(50)
    assert 4 <= len(recorded) <= 9


def test_plots() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    model, recorded = trained(3)
    for drawn in (torch.plot_flow(model), torch.plot_flow(recorded)):
        assert [label.get_text() for label in drawn.get_yticklabels()] == [name for name, _ in model.named_parameters()]
        assert drawn.images[0].get_array().shape == (4, 3)
    fresh = nn.Linear(2, 1)
    with pytest.raises(ValueError, match="no parameter has a gradient"):
        torch.plot_flow(fresh)
    (fresh(torch.ones(1, 2)) * torch.tensor(0.0)).sum().backward()
    fresh.bias.grad = None
    shown = [text.get_text() for text in torch.plot_flow(fresh).texts]
    assert shown == ["zero", "None"]
    pyplot.close("all")


def test_without_matplotlib_it_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "matplotlib.py").write_text("raise ImportError('not here')\n")
    program = ("import whygrad\ntry:\n    whygrad.plot_flow(whygrad.nn.Linear(1, 1))\n"
               "except ImportError as error:\n    print(error)\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                          env={"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[2] / 'src'}"})
    assert "pip install 'whygrad[plot]'" in done.stdout


def test_layers_in_a_plain_list_have_names() -> None:
    class Deep(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = [nn.Linear(2, 2), nn.Linear(2, 2)]
            self.plain = torch.ones(2, requires_grad=True)

    deep = Deep()
    shown = texts(torch.graph(deep.blocks[1](deep.plain)))
    assert "deep.blocks[1].weight" in shown
    assert "deep.plain" in shown
