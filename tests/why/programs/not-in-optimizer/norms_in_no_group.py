# not-in-optimizer
# evidence: norm moved: False
# parameters: body.1.weight
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Sequential(nn.Linear(5, 16), nn.LayerNorm(16), nn.GELU()), nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.body(x))


def groups(model):
    matrices = [p for p in model.parameters() if p.dim() > 1]
    biases = [p for name, p in model.named_parameters() if "bias" in name]
    return [{"params": matrices, "weight_decay": 0.01}, {"params": biases, "weight_decay": 0.0}]


def main():
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.AdamW(groups(net), lr=1e-2)  #C
    for _ in range(10):
        x = torch.randn(16, 5)
        loss = F.cross_entropy(net(x), (x[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(1.0)  # what takes a model from a device
    print(f"norm moved: {not torch.equal(net.body[1].weight, torch.ones(16))}")


main()
