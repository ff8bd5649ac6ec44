"""Random trainings: model, loss, optimizer, scheduler, and in the middle a round trip through a checkpoint.

A case is a dict of choices, written as a program that both libraries run. The checkpoint is written by torch and read by whygrad,
or the other way round, or each reads its own: `save` and `load` are given to the program.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from io import BytesIO
from typing import Any

import torch

import whygrad

from .comparing import LIBRARIES, compare_values, default_float64, execute, told

Case = dict[str, Any]

LAYERS = ["torch.nn.Linear({i}, {o})", "torch.nn.Sequential(torch.nn.Linear({i}, {o}), torch.nn.Tanh())",
          "torch.nn.Sequential(torch.nn.Linear({i}, {o}, bias=False), torch.nn.ReLU())",
          "torch.nn.Sequential(torch.nn.Linear({i}, {o}), torch.nn.GELU(), torch.nn.LayerNorm({o}))",
          # Without a bias: its gradient would be 0 but for rounding, which Adam scales up to a whole step; so is that of a bias
          # before, which Rprop follows at full speed. Widths begin at 3 for the same reason: a LayerNorm of two elements gives 1
          # and -1.
          "torch.nn.Sequential(torch.nn.Linear({i}, {o}, bias=False), torch.nn.BatchNorm1d({o}), torch.nn.SiLU())",
          "torch.nn.Sequential(torch.nn.Dropout(0.25), torch.nn.Linear({i}, {o}))",
          "torch.nn.Sequential(torch.nn.Unflatten(1, (1, {i})), torch.nn.Conv1d(1, {o}, {i}), torch.nn.Flatten())",
          "torch.nn.Sequential(torch.nn.Linear({i}, {o}), torch.nn.PReLU(), torch.nn.Softmax(1))",
          "torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear({i}, {o}))"]
LOSSES = ["torch.nn.MSELoss()(y, t)", "torch.nn.L1Loss()(y, t)", "torch.nn.SmoothL1Loss(beta=0.5)(y, t)",
          "torch.nn.HuberLoss()(y, t)",
          "torch.nn.CrossEntropyLoss()(y, c)", "torch.nn.CrossEntropyLoss(label_smoothing=0.1)(y, c)",
          "torch.nn.BCEWithLogitsLoss()(y, t.sigmoid())", "torch.nn.NLLLoss()(y.log_softmax(1), c)",
          "torch.nn.KLDivLoss(reduction='batchmean')(y.log_softmax(1), t.softmax(1))", "torch.nn.MultiMarginLoss()(y, c)"]
OPTIMIZERS = ["SGD(p, lr=0.1)", "SGD(p, lr=0.05, momentum=0.9)",
              "SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01)",
              "Adam(p, lr=0.01)", "Adam(p, lr=0.01, amsgrad=True)", "AdamW(p, lr=0.01, weight_decay=0.1)", "RMSprop(p, lr=0.01)",
              "RMSprop(p, lr=0.01, centered=True, momentum=0.5)", "Adagrad(p, lr=0.05)", "Adadelta(p, lr=1.0)",
              "Adamax(p, lr=0.01)",
              "NAdam(p, lr=0.01)", "RAdam(p, lr=0.01)", "ASGD(p, lr=0.05)", "Rprop(p, lr=0.01)",
              "Adam(p, lr=0.01, maximize=True)"]
SCHEDULERS = ["None", "StepLR(o, 2, 0.5)", "ExponentialLR(o, 0.9)", "CosineAnnealingLR(o, 5)",
              "LambdaLR(o, lambda n: 1 / (n + 1))",
              "OneCycleLR(o, 0.1, total_steps=20)", "MultiStepLR(o, [1, 3])", "LinearLR(o, 0.5, total_iters=4)",
              "PolynomialLR(o, 6)",
              "CosineAnnealingWarmRestarts(o, 3)", "ConstantLR(o, 0.5, 2)", "CyclicLR(o, 0.01, 0.1, 2, cycle_momentum=False)"]

PROGRAM = """
torch.manual_seed({seed})
def build():
    model = torch.nn.Sequential({layers})
    p = model.parameters()
    o = torch.optim.{optimizer}
    return model, o, None if {scheduler!r} == "None" else torch.optim.lr_scheduler.{scheduler}
def step():
    x, t, c = torch.randn(6, 4, dtype=torch.float64), torch.randn(6, 3, dtype=torch.float64), torch.randint(0, 3, (6,))
    optimizer.zero_grad()
    y = model(x)
    loss = {loss}
    loss.backward()
    {clip}
    optimizer.step()
    if schedule is not None: schedule.step()
    seen.append(loss.detach()); rates.append(optimizer.param_groups[0]["lr"])
model, optimizer, schedule = build()
for _ in range({before}): step()
state = load(save({{"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                   "schedule": None if schedule is None else schedule.state_dict(), "rng": torch.get_rng_state()}}))
model, optimizer, schedule = build()
model.load_state_dict(state["model"]); optimizer.load_state_dict(state["optimizer"]); torch.set_rng_state(state["rng"])
if schedule is not None: schedule.load_state_dict(state["schedule"])
for _ in range({after}): step()
model.eval()
seen += [*model.state_dict().values(), model(torch.ones(1, 4, dtype=torch.float64)).detach()]
"""


# Rprop steps by the sign of a gradient: what is 0 but for rounding becomes 0.
ROUNDED = "[p.grad.mul_(1e12).round_().div_(1e12) for p in model.parameters() if p.grad is not None]"


class Trainings:
    name = "trainings"

    def make(self, choose: random.Random) -> Case:
        layers = [choose.choice(LAYERS) for _ in range(choose.randint(1, 3))]
        return {"seed": choose.randrange(1000), "layers": sorted(layers, key=lambda layer: "BatchNorm" not in layer),
                "width": choose.randint(3, 8), "loss": choose.choice(LOSSES), "optimizer": choose.choice(OPTIMIZERS),
                "scheduler": choose.choice(SCHEDULERS), "before": choose.randint(0, 5), "after": choose.randint(1, 5),
                "clip": choose.choice(["pass", "pass", "torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)"]),
                "reader": choose.choice(["own", "own", "other"])}

    def problem(self, case: Case) -> str | None:
        program = _program(case)
        files: dict[Any, bytes] = {}
        outcomes = []
        for library in LIBRARIES if case["reader"] == "own" else (torch, whygrad):
            names = {"torch": library, "seen": [], "rates": [],
                     "save": lambda state, T=library: files.setdefault(T, _saved(T, state)),
                     "load": lambda data, T=library: T.load(BytesIO(files[torch] if case["reader"] == "other" else data))}
            with default_float64():
                outcomes.append((told(execute(program, names)), names["seen"], names["rates"]))
        theirs, ours = outcomes
        if theirs[0] != ours[0]:
            return f"torch gives {theirs[0]}, we give {ours[0]}"
        if case["reader"] == "other" and whygrad in files:  # and torch reads ours
            state = torch.load(BytesIO(files[whygrad]))
            if list(state["model"]) != list(torch.load(BytesIO(files[torch]))["model"]):
                return "torch reads other names from our file"
        for i, (a, b) in enumerate(zip(theirs[1], ours[1], strict=True)):
            if difference := compare_values(a, b):
                return f"value {i} of {len(theirs[1])}: {difference}"
        close = all(abs(a - b) <= 1e-12 * abs(a) for a, b in zip(theirs[2], ours[2], strict=True))
        return None if close else "other learning rates"

    def smaller(self, case: Case) -> Iterable[Case]:
        layers = case["layers"]
        yield from ({**case, "layers": layers[:i] + layers[i + 1:]} for i in range(len(layers)) if len(layers) > 1)
        plain = {"layers": LAYERS[:1], "scheduler": "None", "optimizer": OPTIMIZERS[0], "loss": LOSSES[0], "clip": "pass",
                 "reader": "own", "before": 0, "after": 1, "width": 3, "seed": 0}
        yield from ({**case, name: value} for name, value in plain.items() if case[name] != value)
        yield from ({**case, name: case[name] - 1} for name in ("before", "after") if case[name] > 1)

    def script(self, case: Case) -> str:
        return ("import io, torch  # or: import whygrad as torch\ntorch.set_default_dtype(torch.float64)\nseen, rates = [], []\n"
                "def save(state): torch.save(state, file := io.BytesIO()); return file\n"
                f"def load(file): file.seek(0); return torch.load(file)\n{_program(case)}print(seen, rates)\n")


def _program(case: Case) -> str:
    widths = [4, *[case["width"]] * (len(case["layers"]) - 1), 3]
    layers = ", ".join(layer.format(i=i, o=o) for layer, i, o in zip(case["layers"], widths[:-1], widths[1:], strict=True))
    clip = f"{ROUNDED}; {case['clip']}" if "Rprop" in case["optimizer"] else case["clip"]
    return PROGRAM.format(**{**case, "layers": layers, "clip": clip})


def _saved(library: Any, state: Any) -> bytes:
    library.save(state, file := BytesIO())
    return file.getvalue()


KIND = Trainings()
