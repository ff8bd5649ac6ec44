"""`explain(model)`: each parameter by name, with what became of its gradient."""

from __future__ import annotations

import json
from typing import Any

import pytest

import whygrad as torch
from whygrad import nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cut, self.flows, self.head = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 1)
        self.unused, self.masked, self.broken = nn.Linear(2, 2), nn.Linear(4, 1), nn.Linear(4, 1)
        self.head.bias.requires_grad_(False)

    def forward(self, x: Any) -> Any:
        h = self.flows(self.cut(x).detach())
        return self.head(h) + 0 * self.masked(h) + (self.broken(h) * float("nan"))


@pytest.fixture
def model() -> Model:
    torch.manual_seed(0)
    return Model()


def test_before_and_after_backward(model: Model) -> None:
    optimizer = torch.optim.SGD([*model.flows.parameters(), model.masked.weight, model.masked.bias], lr=0.1)
    loss = model(torch.randn(5, 3)).mean()
    before = {row.name: row.state for row in torch.explain(model, loss=loss)}
    assert before["flows.weight"] == "not yet"
    assert before["cut.weight"] == before["unused.bias"] == "None"
    loss.backward()
    model.flows.weight.grad = torch.ones(4, 4)
    model.masked.weight.grad = torch.zeros(1, 4)
    model.head.weight.grad = torch.ones(1, 4)
    table = torch.explain(model, loss=loss)
    states = {row.name: row.state for row in table}
    assert len(table) == len(list(model.parameters()))
    assert states["flows.weight"] == "flows"
    assert states["cut.weight"] == states["unused.weight"] == "None"
    assert states["head.bias"] == "frozen"
    assert states["head.weight"] == "not in any optimizer"
    assert states["masked.weight"] == "zero"
    assert states["broken.weight"] == "NaN"
    assert table["cut.weight"].explanation.category == "detach"
    assert table["unused.weight"].explanation.category == "unused-in-loss"
    assert table["head.weight"].explanation.category == "not-in-optimizer"
    assert table["flows.weight"].norm == pytest.approx(4.0)
    assert table["flows.weight"].held
    with pytest.raises(KeyError):
        table["nothing"]
    del optimizer


def test_as_text_and_data(model: Model) -> None:
    table = torch.explain(model)
    text = str(table)
    assert text.splitlines()[0].startswith("Model, 12 parameters: ")
    assert "head.bias" in text
    assert "[frozen]" in text
    told = json.loads(json.dumps(table.to_dict()))
    assert told["parameters"][0]["name"] == "cut.weight"
    assert told["parameters"][0]["held"] in (None, False)
    assert table._repr_html_().count("<tr") == 13


def test_without_a_source_only_the_line_is_told() -> None:
    scope = {"nn": nn}
    exec("m = nn.Linear(2, 1)\nm.requires_grad_(False)", scope)
    assert torch.explain(scope["m"])["weight"].remark() == "[frozen] line 2"  # type: ignore[arg-type]


def test_html_is_escaped() -> None:
    model = nn.Module()
    model.register_parameter("<img onerror=alert(1)>", nn.Parameter(torch.ones(1)))
    assert "<img" not in torch.explain(model)._repr_html_()


def test_no_parameters_and_other_things() -> None:
    assert str(torch.explain(nn.ReLU())) == "ReLU has no parameters"
    with pytest.raises(TypeError, match="a Tensor or a Module, not int"):
        torch.explain(3)
