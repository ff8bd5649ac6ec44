# train-in-validation | dropout, training/eval
# evidence: two validations of the same model agree: False
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SentimentNet(nn.Module):
    def __init__(self, vocab=50, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, 24, 3, padding=1)
        self.fc = nn.Linear(24, 1)

    def forward(self, ids):
        h = self.embed(ids).transpose(1, 2)
        h = F.relu(self.conv(h)).amax(dim=-1)
        h = F.dropout(h, p=0.5)  #C
        return self.fc(h).squeeze(-1)


def reviews(n, vocab=50, length=12):
    ids = torch.randint(0, vocab, (n, length))
    good = (ids < 8).sum(1) > (ids >= 42).sum(1)
    return TensorDataset(ids, good.float())


def train_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for ids, good in loader:
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(ids), good)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def validate(model, loader):
    model.eval()
    with torch.no_grad():
        losses = [F.binary_cross_entropy_with_logits(model(ids), good).item() for ids, good in loader]
    return sum(losses) / len(losses)


def main():
    torch.manual_seed(77)
    train_loader = DataLoader(reviews(160), batch_size=20, shuffle=True)
    val_loader = DataLoader(reviews(60), batch_size=20)
    model = SentimentNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    best = float("inf")
    for epoch in range(4):
        train_loss = train_epoch(model, train_loader, optimizer)
        val_loss = validate(model, val_loader)
        best = min(best, val_loss)
        print(f"epoch {epoch} train {train_loss:.4f} val {val_loss:.4f} best {best:.4f}")
    again = abs(validate(model, val_loader) - val_loss) < 1e-6
    print("two validations of the same model agree:", again)


if __name__ == "__main__":
    main()
