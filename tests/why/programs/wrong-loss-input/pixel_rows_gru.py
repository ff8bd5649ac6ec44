# wrong-loss-input, softmax-before-loss, sigmoid-before-logits | softmax/probabilities, nll/nllloss/nll_loss/log
# evidence: loss below zero in every epoch: True
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class RowReader(nn.Module):
    """Reads an image row by row with a GRU."""

    def __init__(self, width=6, hidden=20, classes=5):
        super().__init__()
        self.gru = nn.GRU(width, hidden, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, img):
        _, h = self.gru(img)
        return F.softmax(self.head(h[-1]), dim=1)  #C


def bars(n=150):
    y = torch.arange(n) % 5
    img = 0.2 * torch.randn(n, 6, 6)
    img[torch.arange(n), y] += 1.0
    return TensorDataset(img, y)


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    losses, hits = [], 0
    for img, y in loader:
        optimizer.zero_grad()
        out = model(img)
        loss = criterion(out, y)  #C
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        hits += (out.argmax(1) == y).sum().item()
    return sum(losses) / len(losses), hits / len(loader.dataset)


def main():
    torch.manual_seed(11)
    loader = DataLoader(bars(), batch_size=25, shuffle=True)
    model = RowReader()
    criterion = nn.NLLLoss()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3)
    history = []
    for epoch in range(8):
        loss, acc = train_epoch(model, loader, criterion, optimizer)
        history.append(loss)
        print(f"epoch {epoch}  nll {loss:.4f}  acc {acc:.3f}")
    print("loss below zero in every epoch:", max(history) < 0)


if __name__ == "__main__":
    main()
