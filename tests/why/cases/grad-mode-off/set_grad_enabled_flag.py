# grad-mode-off | error | set_grad_enabled
# evidence: True
import torch
import torch.nn as nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.training = False

    def run_epoch(self, x, train):
        torch.set_grad_enabled(self.training)  #C
        return self.model(x).pow(2).mean()  #C


t = Trainer(nn.Linear(2, 1))
loss = t.run_epoch(torch.randn(4, 2), train=True)
failed = False
try:
    loss.backward()  #R
except RuntimeError:
    failed = True
print("evidence:", failed)
