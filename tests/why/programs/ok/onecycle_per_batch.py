# ok
# evidence: scheduler steps: 48, lr ends far below start: True, loss went down: True
import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset


class TabularNet(nn.Module):
    def __init__(self, cards, n_num, emb=4):
        super().__init__()
        self.embeds = nn.ModuleList(nn.Embedding(c, emb) for c in cards)
        self.mlp = nn.Sequential(nn.Linear(emb * len(cards) + n_num, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, cat, num):
        e = [emb(cat[:, i]) for i, emb in enumerate(self.embeds)]
        return self.mlp(torch.cat(e + [num], dim=1)).squeeze(1)


def table(n):
    cat = torch.stack([torch.randint(0, 5, (n,)), torch.randint(0, 7, (n,))], dim=1)
    num = torch.randn(n, 3)
    effect = torch.linspace(-1, 1, 5)[cat[:, 0]]
    logit = 2 * effect + num[:, 0] - 0.5 * num[:, 1]
    return cat, num, (torch.sigmoid(3 * logit) > torch.rand(n)).float()


def main():
    torch.manual_seed(40)
    epochs = 8
    loader = DataLoader(TensorDataset(*table(192)), batch_size=32, shuffle=True)
    model = TabularNet([5, 7], 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    scheduler = OneCycleLR(optimizer, max_lr=3e-2, epochs=epochs, steps_per_epoch=len(loader))
    criterion = nn.BCEWithLogitsLoss()
    start_lr, n_sched, history = optimizer.param_groups[0]["lr"], 0, []
    for epoch in range(epochs):
        running = 0.0
        for cat, num, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(cat, num), y)
            loss.backward()
            optimizer.step()
            scheduler.step()          # one cycle over all batches
            n_sched += 1
            running += loss.item()
        history.append(running / len(loader))
        print(f"epoch {epoch} loss {history[-1]:.4f} lr {scheduler.get_last_lr()[0]:.6f}")
    end_lr = optimizer.param_groups[0]["lr"]
    print(f"scheduler steps: {n_sched}, lr ends far below start: {end_lr < start_lr / 10}, "
          f"loss went down: {history[-1] < history[0]}")


if __name__ == "__main__":
    main()
