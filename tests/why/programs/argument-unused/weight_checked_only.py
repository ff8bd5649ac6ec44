# argument-unused | never used/does not depend, weight
# evidence: same with other weights: True
import torch
from torch import nn


class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x, weight):  #C
        if weight.shape[0] != x.shape[0]:
            raise ValueError("one weight for each sample")
        return self.layer(x)


torch.manual_seed(0)
model = Weighted()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data, weights = torch.randn(128, 4), torch.rand(128, 1)
for step in range(8):
    x, weight = data[16 * step:16 * step + 16], weights[16 * step:16 * step + 16]
    loss = (model(x, weight) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("evidence: same with other weights:", torch.equal(model(x, weight), model(x, weight + 1)))
