import os
import tempfile

import torch
from safetensors.torch import load_file, load_model, save_file, save_model

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.safetensors")
    save_file(model.state_dict(), path, metadata={"format": "pt"})
    state = load_file(path)
    save_model(model, path)
    other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    load_model(other, path)
print(len(state), sum(v.float().sum().item() for v in state.values()), other(torch.ones(2, 3)).sum().item())
