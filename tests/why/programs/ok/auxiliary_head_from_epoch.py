# ok
# evidence: auxiliary head still before epoch 3: True, moved later: True, main loss went down: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 24), nn.GELU())
        self.main = nn.Linear(24, 4)
        self.aux = nn.Linear(24, 10)

    def forward(self, x):
        h = self.trunk(x)
        return self.main(h), self.aux(h)


def aux_weight(epoch, start=3, ramp=2):
    return 0.0 if epoch < start else 0.5 * min(1.0, (epoch - start + 1) / ramp)


def train_one_epoch(model, loader, optimizer, epoch):
    w, total = aux_weight(epoch), 0.0
    for x, y in loader:
        logits, rec = model(x + 0.1 * torch.randn_like(x))
        loss = nn.functional.cross_entropy(logits, y)
        total += loss.item()
        if w > 0:
            loss = loss + w * nn.functional.mse_loss(rec, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return total / len(loader)


def main():
    torch.manual_seed(59)
    centers = torch.randn(4, 10)
    y = torch.randint(0, 4, (160,))
    loader = DataLoader(TensorDataset(centers[y] + 0.8 * torch.randn(160, 10), y), batch_size=32, shuffle=True)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    aux0, still, history = model.aux.weight.detach().clone(), False, []
    for epoch in range(8):
        if epoch == 3:
            still = torch.equal(aux0, model.aux.weight.detach())
        history.append(train_one_epoch(model, loader, optimizer, epoch))
        print(f"epoch {epoch} main {history[-1]:.4f} aux weight {aux_weight(epoch):.2f}")
    print(f"auxiliary head still before epoch 3: {still}, moved later: "
          f"{not torch.equal(aux0, model.aux.weight.detach())}, main loss went down: {history[-1] < history[0]}")


if __name__ == "__main__":
    main()
