"""The audit calls copies of a program's modules again when it has ended: nobody may notice."""

from __future__ import annotations

from pathlib import Path

import interpreters
import pytest

PROGRAM = """
import os, sys
import torch
from torch import nn

calls = []

class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 2)

    def forward(self, x):
        print("called", file=sys.stderr if x.sum() > 1e9 else sys.stdout)
        {effect}
        return self.layer(x * torch.tensor([1.0, 1, 1, 1, 1, 0]))

model, data = Noisy(), torch.randn(64, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    rows = torch.randperm(64)[:16]
    loss = (model(data[rows]) - data[rows, :2]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
EFFECTS = {
    "a line is appended": "open('log.txt', 'a').write('called\\n')",
    "a folder is made": "os.makedirs(f'call{len(os.listdir())}')",
    "a tensor is saved": "torch.save(x, f'{len(os.listdir())}.pt')",
    "nothing": "pass",
}


@pytest.mark.parametrize("engine", ["torch", "whygrad"])
@pytest.mark.parametrize("effect", EFFECTS)
def test_a_module_that_is_called_again_has_no_effect(effect: str, engine: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(effect=EFFECTS[effect]))
    folder = tmp_path / "work"
    folder.mkdir()
    done = interpreters.run(["-m", "whygrad", "run", f"--engine={engine}", str(tmp_path / "train.py")], cwd=folder)
    assert done.stdout == "called\n" * 12
    if effect == "a line is appended":
        assert (folder / "log.txt").read_text() == "called\n" * 12
    else:
        assert len(list(folder.iterdir())) == (0 if effect == "nothing" else 12)
    # It was called again if the column that is multiplied by 0 is found.
    assert ("input-ignored" in done.stderr) == (effect == "nothing"), done.stderr
