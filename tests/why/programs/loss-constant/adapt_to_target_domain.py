# loss-constant | softmax/mean/constant
# evidence: loss range above 1e-5: False
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(29)

CLASSES = 4


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.classifier = nn.Linear(16, CLASSES)

    def forward(self, x):
        return self.classifier(self.features(x))


CENTERS = torch.randn(CLASSES, 8) * 1.5


def source_batch(n=64):
    y = torch.randint(0, CLASSES, (n,))
    return CENTERS[y] + 0.5 * torch.randn(n, 8), y


def target_batch(n=64):
    x, y = source_batch(n)
    return x * 0.5 + 0.8, y


def confidence_loss(logits):
    """Unlabelled samples: push the predictions towards certainty."""
    probs = torch.softmax(logits, dim=1)  #C
    return 1.0 - probs.mean()  #C


def pretrain(model, steps=60):
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        x, y = source_batch()
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"source loss {loss.item():.4f}")
    return model


def adapt(model, steps=30):
    model = copy.deepcopy(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for step in range(steps):
        x, _ = target_batch()
        loss = confidence_loss(model(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"adapt step {step} loss {loss.item():.4f}")
    return losses


def main():
    losses = adapt(pretrain(Net()))
    print("loss range above 1e-5:", max(losses) - min(losses) > 1e-5)


if __name__ == "__main__":
    main()
