# label-dtype, target-constant | long/int/integer/dtype/truncat/fraction
# evidence: distinct targets in training: 1
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class EssayScorer(nn.Module):
    def __init__(self, vocab=40, dim=16):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.score = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, tokens):
        return self.score(self.embed(tokens)).squeeze(-1)


def grade(tokens):
    """Share of advanced words, a score between 0 and 1."""
    return (tokens >= 20).float().mean().item()


def build_dataset(n=160, length=15):
    essays = torch.randint(0, 38, (n, length))
    scores = torch.zeros(n, dtype=torch.long)  #C
    for i in range(n):
        scores[i] = grade(essays[i])  #C
    return TensorDataset(essays, scores)


def train_epoch(model, loader, optimizer, criterion):
    total = 0.0
    targets = set()
    for tokens, score in loader:
        pred = model(tokens)
        loss = criterion(pred, score.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        targets.update(score.tolist())
    return total / len(loader), targets


def main():
    torch.manual_seed(53)
    loader = DataLoader(build_dataset(), batch_size=16, shuffle=True)
    model = EssayScorer()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.MSELoss()
    for epoch in range(5):
        loss, targets = train_epoch(model, loader, optimizer, criterion)
        print(f"epoch {epoch} mse {loss:.5f}")
    print("distinct targets in training:", len(targets))


if __name__ == "__main__":
    main()
