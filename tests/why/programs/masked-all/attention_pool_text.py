# masked-all, output-constant, zero-factor | mask, padding/inverted/pad
# evidence: attention weight on real tokens is zero: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

PAD = 0


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1, bias=False)

    def forward(self, states, mask):
        scores = self.score(torch.tanh(states)).squeeze(-1)
        scores = scores.masked_fill(mask, -1e9)  #C
        self.weights = torch.softmax(scores, dim=-1)
        return torch.einsum("bt,btd->bd", self.weights, states)


class TextClassifier(nn.Module):
    def __init__(self, vocab=30, dim=16, n_classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.mix = nn.Linear(dim, dim)
        self.pool = AttentionPool(dim)
        self.head = nn.Linear(dim, n_classes)

    def forward(self, tokens):
        mask = tokens != PAD  #C
        h = torch.tanh(self.mix(self.embed(tokens)))
        return self.head(self.pool(h, mask))


def make_sentences(n, max_len=9):
    """Words 1-9, 10-19 and 20-29 belong to class 0, 1 and 2."""
    labels = torch.randint(0, 3, (n,))
    tokens = torch.full((n, max_len), PAD)
    for i, k in enumerate(labels.tolist()):
        length = int(torch.randint(4, max_len, (1,)))
        low = max(1, k * 10)
        tokens[i, :length] = torch.randint(low, k * 10 + 10, (length,))
        tokens[i, 0] = torch.randint(1, 30, (1,)).item()
    return TensorDataset(tokens, labels)


def train(model, loader, epochs, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        total, hits, n = 0.0, 0, 0
        for tokens, labels in loader:
            logits = model(tokens)
            loss = criterion(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            total += loss.item() * len(labels)
            hits += (logits.argmax(1) == labels).sum().item()
            n += len(labels)
        print(f"epoch {epoch}: loss {total / n:.3f} accuracy {hits / n:.2f}")


def main():
    torch.manual_seed(0)
    data = make_sentences(120)
    model = TextClassifier()
    train(model, DataLoader(data, batch_size=24, shuffle=True), epochs=6, lr=1e-2)
    tokens = data.tensors[0]
    with torch.no_grad():
        model(tokens)
    on_words = model.pool.weights[tokens != PAD].sum().item()
    print("attention weight on real tokens is zero:", on_words == 0.0)


if __name__ == "__main__":
    main()
