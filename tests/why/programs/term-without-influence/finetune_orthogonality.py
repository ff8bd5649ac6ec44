# term-without-influence | penalty/regular/orthogonal/term, frozen/requires_grad/no parameter/no influence/constant/no trainable
# evidence: values of the penalty over training: 1
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Backbone(nn.Module):
    def __init__(self, n_in=10, dim=16):
        super().__init__()
        self.proj = nn.Linear(n_in, dim)
        self.mix = nn.Linear(dim, dim)

    def forward(self, x):
        return torch.tanh(self.mix(torch.tanh(self.proj(x))))


class FineTuned(nn.Module):
    def __init__(self, backbone, n_classes=4):
        super().__init__()
        self.backbone = backbone
        self.adapter = nn.Linear(16, 16)
        self.head = nn.Linear(16, n_classes)
        for p in self.backbone.parameters():
            p.requires_grad_(False)

    def forward(self, x):
        return self.head(torch.tanh(self.adapter(self.backbone(x))))


def pretrain(backbone, x, y, steps=20):
    """Stands in for the large data set the backbone comes from."""
    head = nn.Linear(16, 1)
    params = list(backbone.parameters()) + list(head.parameters())
    optimizer = torch.optim.Adam(params, lr=1e-2)
    for _ in range(steps):
        loss = nn.functional.mse_loss(head(backbone(x)).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"pretraining loss {loss.item():.4f}")


def orthogonality(weight):
    gram = weight @ weight.t()
    return ((gram - torch.eye(len(weight))) ** 2).mean()


def finetune(model, loader, epochs=6, penalty_weight=1.0):
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trainable, lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    seen = set()
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            penalty = orthogonality(model.backbone.mix.weight)  #C
            loss = criterion(model(x), y) + penalty_weight * penalty
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen.add(penalty.item())
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f} penalty {penalty.item():.4f}")
    return seen


def main():
    torch.manual_seed(0)
    x = torch.randn(160, 10)
    backbone = Backbone()
    pretrain(backbone, x, x[:, 0] * x[:, 1])
    labels = 2 * (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    loader = DataLoader(TensorDataset(x, labels), batch_size=32, shuffle=True)
    seen = finetune(FineTuned(backbone), loader)
    print("values of the penalty over training:", len(seen))


if __name__ == "__main__":
    main()
