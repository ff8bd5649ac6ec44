# vanishing-gradient | gradient
# evidence: first convolution changed by more than 1e-6: False
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(15)


def init_weights(m):
    if isinstance(m, (nn.Conv2d, nn.Linear)):
        nn.init.normal_(m.weight, mean=0.0, std=0.005)  #C
        nn.init.constant_(m.bias, 0.1)


class PlainNet(nn.Module):
    def __init__(self, ch=10, depth=7, classes=3):
        super().__init__()
        convs = [nn.Conv2d(1, ch, 3, padding=1)]
        convs += [nn.Conv2d(ch, ch, 3, padding=1) for _ in range(depth - 1)]
        self.convs = nn.ModuleList(convs)
        self.fc = nn.Linear(ch, classes)
        self.apply(init_weights)

    def forward(self, x):
        for conv in self.convs:
            x = F.relu(conv(x))  #C
        return self.fc(x.mean(dim=(2, 3)))


def blobs(n=144):
    y = torch.randint(0, 3, (n,))
    x = 0.3 * torch.randn(n, 1, 8, 8)
    x[:, 0, 2:6, 2:6] += (y.float() - 0.5)[:, None, None] * 1.5
    return TensorDataset(x, y)


def main():
    loader = DataLoader(blobs(), batch_size=24, shuffle=True)
    model = PlainNet()
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
    start = model.convs[0].weight.detach().clone()
    for epoch in range(6):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        print(f"epoch {epoch + 1} loss {total / len(loader):.4f}")
    change = (model.convs[0].weight.detach() - start).abs().max().item()
    print("first convolution changed by more than 1e-6:", change > 1e-6)


if __name__ == "__main__":
    main()
