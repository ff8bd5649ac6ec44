# data-mutated | in place
# evidence: changed: True
import torch
import torch.nn.functional as F
from torch import nn


def noisy(batch, strength=0.1):
    batch += strength * torch.randn_like(batch)  #C
    return batch


class Trainer:
    def __init__(self, inputs, targets):
        self.inputs, self.targets = inputs, targets
        self.model = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)

    def epoch(self, size=16):
        for start in range(0, len(self.inputs), size):
            x, y = self.inputs[start:start + size], self.targets[start:start + size]
            loss = F.mse_loss(self.model(noisy(x)), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


def main():
    torch.manual_seed(0)
    x = torch.randn(64, 5)
    before = x.clone()
    trainer = Trainer(x, x.sum(1, keepdim=True))
    for _ in range(4):
        trainer.epoch()
    print(f"changed: {not torch.equal(before, x)}")


main()
