# ok
# evidence: done
# few-shot episodes give the same samples other labels each time; sampled nodes see their neighbours; the accuracy on the
# training data is told as such
import torch
import torch.nn as nn
import torch.nn.functional as F


class Prototypes(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.net(x))


def train_accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        right = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return right


def main():
    torch.manual_seed(0)
    kinds = torch.arange(9).repeat_interleave(8)
    samples = torch.randn(9, 8)[kinds] + 0.3 * torch.randn(72, 8)
    model = Prototypes()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for episode in range(60):
        chosen = torch.randperm(9)[:3]
        rows = torch.cat([torch.nonzero(kinds == kind).squeeze(1) for kind in chosen])
        labels = torch.arange(3).repeat_interleave(8)
        loss = F.cross_entropy(model(samples[rows]), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if episode % 20 == 0:
            print(f"accuracy on the episode's own samples {train_accuracy(model, samples[rows], labels):.2f}")


main()
print("evidence: done")
