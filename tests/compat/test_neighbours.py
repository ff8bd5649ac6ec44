"""Libraries that people use beside PyTorch work with tensors of the alias: the same program prints the same on both."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import interpreters
import pytest

import whygrad

SOURCE = str(Path(whygrad.__file__).parents[1])

PROGRAMS = {
    "einops": """
        import torch
        from einops import einsum, pack, rearrange, reduce, repeat, unpack
        from einops.layers.torch import Rearrange, Reduce
        x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
        print(rearrange(x, "b (c d) w -> (b d) c w", d=3).shape, repeat(x, "b c w -> b c w k", k=2).sum())
        print(reduce(x, "b c w -> b w", "mean"), einsum(x, x, "b c w, b d w -> b c d").sum())
        packed, shapes = pack([x, x[:, :, 0]], "b *")
        print(packed.shape, [part.shape for part in unpack(packed, shapes, "b *")])
        model = torch.nn.Sequential(Rearrange("b c w -> b (c w)"), torch.nn.Identity(), Reduce("b f -> b", "max"))
        model(x).sum().backward()
        print(model, x.grad.sum())
    """,
    "tqdm": """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        from tqdm import tqdm, trange
        loader = DataLoader(TensorDataset(torch.arange(6.0)), batch_size=2)
        bar = tqdm(loader, disable=True)
        for (x,) in bar:
            bar.set_postfix(loss=x.sum())
            print(x, len(bar))
        print([i for i in trange(torch.tensor(3), disable=True)])
    """,
    "pandas": """
        import pandas as pd
        import torch
        frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [1, 0, 1]})
        x, y = torch.tensor(frame["x"].values), torch.from_numpy(frame["y"].to_numpy().copy())
        print(x, y, torch.tensor(frame.to_numpy(), dtype=torch.float32))
        frame["z"] = (x * 2).numpy()
        frame["w"] = torch.ones(3).tolist()
        print(frame, frame.dtypes.tolist(), pd.Series((x * y).numpy()).sum(), sep="\\n")
    """,
    "matplotlib": """
        import io
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        import torch
        x = torch.linspace(0, 1, 5)
        figure, axes = plt.subplots(1, 3)
        line, = axes[0].plot(x, x ** 2)
        axes[1].imshow(torch.rand(4, 4))
        print(axes[2].hist(torch.tensor([1.0, 2.0, 2.0]), bins=2)[0], line.get_ydata())
        axes[0].scatter(x.numpy(), x.detach())
        file = io.BytesIO()
        figure.savefig(file)
        print(file.getvalue()[:4])
    """,
    "numpy": """
        import numpy as np
        import torch
        x = torch.tensor([[1.0, 4.0], [9.0, 16.0]])
        print(np.sqrt(x), np.asarray(x).dtype, np.array(x)[0], np.mean(x.numpy()), np.stack([x, x]).shape)
        print(x + np.float32(1), x * np.array([1.0, 2.0], dtype=np.float32), torch.as_tensor(np.arange(3)), np.concatenate([x]))
        print(np.allclose(x, x), x.numpy() @ np.ones(2), isinstance(x.numpy(), np.ndarray), torch.from_numpy(np.eye(2)).dtype)
    """,
    "safetensors": """
        import torch
        from safetensors import safe_open
        from safetensors.torch import load_file, load_model, save, save_file, save_model
        tensors = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([1, 2]), "c": torch.ones(2, dtype=torch.bfloat16)}
        save_file(tensors, "x.safetensors", {"made": "here"})
        for name, tensor in sorted(load_file("x.safetensors").items()):
            print(name, tensor)
        with safe_open("x.safetensors", framework="pt") as file:
            print(sorted(file.keys()), file.metadata(), file.get_slice("a")[:, 1:2], len(save(tensors)))
        one, two = torch.nn.Linear(2, 3), torch.nn.Linear(2, 3)
        save_model(one, "model.safetensors")
        print(load_model(two, "model.safetensors"), torch.equal(one.weight, two.weight))
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_output(name: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAMS[name]))

    def run(*command: str) -> str:
        environment = {**os.environ, "PYTHONPATH": SOURCE, "PYTHONWARNINGS": "ignore"}
        done = interpreters.run([*command, "program.py"], cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("-m", "whygrad", "run") == run()
