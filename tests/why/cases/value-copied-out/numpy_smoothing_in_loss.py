# value-copied-out | none, error | numpy/plain/copied/copy, graph/history
# evidence: element 0 of tensors does not require grad and does not have a grad_fn
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.Adam(model.parameters())


def smooth(pred):
    arr = pred.detach().cpu().numpy()  #C
    kernel = np.array([0.25, 0.5, 0.25])
    arr = np.stack([np.convolve(c, kernel, mode="same") for c in arr.T], axis=1)
    return torch.from_numpy(arr).float()  #C


x = torch.linspace(-1, 1, 30).reshape(10, 3)
goal = torch.randn(10, 2)
try:
    opt.zero_grad()
    loss = nn.functional.l1_loss(smooth(model(x)), goal)
    loss.backward()  #R
    opt.step()
except RuntimeError as e:
    print("evidence:", e)
