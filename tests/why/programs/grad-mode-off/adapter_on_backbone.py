# grad-mode-off | no_grad/grad mode/gradient mode/recording
# evidence: adapter changed: False
# parameters: adapter.down.weight, adapter.down.bias, adapter.up.weight, adapter.up.bias
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(5)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return x.mean(dim=(2, 3))


class Adapter(nn.Module):
    def __init__(self, dim, rank=4):
        super().__init__()
        self.down = nn.Linear(dim, rank)
        self.up = nn.Linear(rank, dim)

    def forward(self, h):
        return h + self.up(F.gelu(self.down(h)))


class AdaptedClassifier(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.backbone = Backbone()
        self.adapter = Adapter(16)
        self.head = nn.Linear(16, n_classes)
        for p in self.backbone.parameters():
            p.requires_grad = False

    def forward(self, x):
        with torch.no_grad():  #C
            feats = self.backbone(x)
            feats = self.adapter(feats)  #C
        return self.head(feats)


def make_images(n=192):
    y = torch.randint(0, 3, (n,))
    x = 0.3 * torch.randn(n, 1, 8, 8)
    for i, c in enumerate(y.tolist()):
        x[i, 0, c * 2: c * 2 + 3] += 1.0 + 1.5 * c
    return TensorDataset(x, y)


def main():
    loader = DataLoader(make_images(), batch_size=32, shuffle=True)
    model = AdaptedClassifier()
    trainable = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.Adam(trainable, lr=1e-2)
    before = {k: v.clone() for k, v in model.adapter.state_dict().items()}
    for epoch in range(5):
        losses = []
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: {sum(losses) / len(losses):.4f}")
    after = model.adapter.state_dict()
    print("adapter changed:", any((before[k] != after[k]).any().item() for k in before))


if __name__ == "__main__":
    main()
