# ok
# evidence: done
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class EMA:
    def __init__(self, model, decay=0.95):
        self.shadow = copy.deepcopy(model)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.shadow.parameters(), model.parameters()):
            e.mul_(self.decay).add_(p, alpha=1 - self.decay)


def soft_update(target, net, tau=0.01):
    with torch.no_grad():
        for t, p in zip(target.parameters(), net.parameters()):
            t.copy_(tau * p + (1 - tau) * t)


def evaluate(model, loader):
    model.eval()
    total, right = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            total += F.cross_entropy(out, y, reduction="sum").item()
            right += (out.argmax(1) == y).sum().item()
    model.train()
    return total / len(loader.dataset), right / len(loader.dataset)


def main():
    torch.manual_seed(0)
    x = torch.randn(600, 8)
    y = (x @ torch.randn(8, 3)).argmax(1).sort().values
    x = torch.cat([torch.randn(200, 8) + 2 * torch.eye(3, 8)[c] for c in range(3)])
    y = torch.arange(3).repeat_interleave(200)
    train = TensorDataset(x, y)
    val = TensorDataset(x + 0.5 * torch.randn_like(x), y)
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
    ema, target = EMA(net), copy.deepcopy(net)
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.1)
    best_loss, best_acc, best_state = float("inf"), 0.0, None
    for epoch in range(6):
        for a, b in DataLoader(train, batch_size=40, shuffle=True):
            loss = F.cross_entropy(net(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            ema.update(net)
            soft_update(target, net)
        val_loss, val_acc = evaluate(ema.shadow, DataLoader(val, batch_size=100))
        if val_loss < best_loss:
            best_loss = val_loss
            best_state = copy.deepcopy(ema.shadow.state_dict())
        if val_acc > best_acc:
            best_acc = val_acc
            torch.save(net.state_dict(), "best.pt")
    net.load_state_dict(best_state)
    print(best_loss, best_acc)


main()
print("evidence: done")
