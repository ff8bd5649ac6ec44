# never-required-grad | none | requires_grad
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
batch = {"x": torch.rand(4, 3), "y": torch.tensor([0, 1, 1, 0])}  #C
clf = nn.Linear(3, 2)
loss = nn.functional.cross_entropy(clf(batch["x"]), batch["y"])
loss.backward()
perturbation = batch["x"].grad  #R
print("evidence:", perturbation is None)
