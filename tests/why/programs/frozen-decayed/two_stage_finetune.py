# frozen-decayed | decay/momentum/state/set_to_none/zero, frozen/freeze/requires_grad
# evidence: backbone unchanged while frozen: False
# parameters: backbone.0.weight, backbone.0.bias, backbone.2.weight, backbone.2.bias
import torch
import torch.nn as nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self, n_in=8, dim=24, classes=3):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(n_in, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU())
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


class Task:
    def __init__(self, n_in=8, classes=3):
        self.teacher = torch.randn(n_in, classes)

    def batch(self, n=32):
        x = torch.randn(n, 8)
        return x, (x @ self.teacher).argmax(1)


def train(model, optimizer, task, steps, tag):
    for step in range(steps):
        x, y = task.batch()
        optimizer.zero_grad(set_to_none=False)  #C
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"[{tag}] step {step} loss {loss.item():.3f}")


def snapshot(module):
    return [p.detach().clone() for p in module.parameters()]


def main():
    torch.manual_seed(13)
    task = Task()
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.05)  #C
    train(model, optimizer, task, 20, "joint")

    # second stage: only the head
    for p in model.backbone.parameters():
        p.requires_grad = False  #C
    kept = snapshot(model.backbone)
    train(model, optimizer, task, 20, "head")
    same = all(torch.equal(a, b) for a, b in zip(kept, model.backbone.parameters()))
    print("backbone unchanged while frozen:", same)


if __name__ == "__main__":
    main()
