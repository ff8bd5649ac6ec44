# frozen | random
# evidence: head moved: False
import torch
from torch import nn
import torch.nn.functional as F


class Tagger(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU())
        self.scorer = nn.Linear(16, classes)

    def forward(self, x):
        return self.scorer(self.body(x))


def train(model, classes, steps):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    for _ in range(steps):
        x = torch.randn(24, 6)
        loss = F.cross_entropy(model(x), x[:, :classes].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    torch.manual_seed(0)
    model = Tagger(classes=4)
    train(model, 4, 8)
    model.scorer = nn.Linear(16, 3)  #C
    for name, p in model.named_parameters():
        p.requires_grad = "head" in name or "body.2" in name  #C
    before = model.scorer.weight.clone()
    train(model, 3, 10)
    print(f"head moved: {not torch.equal(before, model.scorer.weight)}")


main()
