# layers-in-list, not-in-optimizer | list/tuple/registered/register/modulelist
# evidence: convolutions in state_dict: 0
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class TextCNN(nn.Module):
    def __init__(self, vocab=40, dim=12, channels=6, widths=(2, 3, 4), classes=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.branches = [  #C
            (nn.Conv1d(dim, channels, w), nn.LayerNorm(channels)) for w in widths  #C
        ]
        self.fc = nn.Linear(channels * len(widths), classes)

    def forward(self, tokens):
        h = self.embed(tokens).transpose(1, 2)
        pooled = []
        for conv, norm in self.branches:
            pooled.append(norm(F.relu(conv(h)).amax(dim=-1)))
        return self.fc(torch.cat(pooled, dim=1))


def phrases(n=160, length=10):
    tokens = torch.randint(2, 40, (n, length))
    y = torch.randint(0, 2, (n,))
    for i in range(n):
        if y[i]:
            k = int(torch.randint(0, length - 1, (1,)))
            tokens[i, k:k + 2] = torch.tensor([0, 1])
    return TensorDataset(tokens, y)


def run_epoch(model, loader, optimizer=None):
    total = hits = 0.0
    for tokens, y in loader:
        logits = model(tokens)
        loss = F.cross_entropy(logits, y)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item() * len(y)
        hits += (logits.argmax(1) == y).sum().item()
    n = len(loader.dataset)
    return total / n, hits / n


def main():
    torch.manual_seed(84)
    train_loader = DataLoader(phrases(), batch_size=20, shuffle=True)
    val_loader = DataLoader(phrases(60), batch_size=30)
    model = TextCNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)  #C
    for epoch in range(5):
        loss, acc = run_epoch(model, train_loader, optimizer)
        with torch.no_grad():
            val_loss, val_acc = run_epoch(model, val_loader)
        print(f"epoch {epoch} train {loss:.4f}/{acc:.2f} val {val_loss:.4f}/{val_acc:.2f}")
    print("convolutions in state_dict:", sum(t.dim() == 3 for t in model.state_dict().values()))


if __name__ == "__main__":
    main()
