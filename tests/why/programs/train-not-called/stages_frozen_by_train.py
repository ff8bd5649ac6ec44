# train-not-called | train()
# evidence: True
# The first stages are frozen by train(), as in mmpretrain; nobody calls it before training.
import torch
import torch.nn as nn

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self, frozen_stages=2):
        super().__init__()
        self.frozen_stages = frozen_stages
        self.stages = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])
        self.head = nn.Linear(8, 3)

    def train(self, mode=True):  #C
        super().train(mode)
        for stage in self.stages[:self.frozen_stages]:
            stage.requires_grad_(False)
        return self

    def forward(self, x):
        for stage in self.stages:
            x = torch.relu(stage(x)) + x
        return self.head(x)


model = Backbone()
start = model.stages[0].weight.clone()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
for step in range(12):
    batch = torch.randperm(64)[:16]
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
    optimizer.step()
print("evidence:", not torch.equal(model.stages[0].weight, start))
