# eval-not-undone | eval, train
# evidence: batches trained with dropout on: 10
import torch
import torch.nn as nn
import torch.nn.functional as F

NAMES = ["anna", "emma", "mia", "lena", "marie", "paul", "leon", "noah", "elias", "anton", "maria", "ella"]
CHARS = ["."] + sorted(set("".join(NAMES)))
STOI = {c: i for i, c in enumerate(CHARS)}


class NameModel(nn.Module):
    def __init__(self, vocab, dim=16, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.drop = nn.Dropout(0.3)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x, state=None):
        h, state = self.lstm(self.drop(self.embed(x)), state)
        return self.out(self.drop(h)), state

    @torch.no_grad()
    def generate(self, max_len=8):
        self.eval()  #C
        token, state, name = torch.zeros(1, 1, dtype=torch.long), None, ""
        for _ in range(max_len):
            logits, state = self(token, state)
            token = torch.multinomial(F.softmax(logits[:, -1], dim=-1), 1)
            if token.item() == 0:
                break
            name += CHARS[token.item()]
        return name


def make_batch(n=8):
    picks = [NAMES[i] for i in torch.randint(0, len(NAMES), (n,)).tolist()]
    width = max(map(len, picks)) + 1
    x = torch.zeros(n, width, dtype=torch.long)
    y = torch.full((n, width), -100)
    for r, name in enumerate(picks):
        ids = [STOI[c] for c in name]
        x[r, 1:len(ids) + 1] = torch.tensor(ids)
        y[r, :len(ids) + 1] = torch.tensor(ids + [0])
    return x, y


def train(model, steps=50, sample_every=10):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    regularised = 0
    model.train()
    for step in range(1, steps + 1):
        x, y = make_batch()
        logits, _ = model(x)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        regularised += model.drop.training
        if step % sample_every == 0:
            print(f"step {step} loss {loss.item():.3f} sample {model.generate()!r}")  #C
    return regularised


def main():
    torch.manual_seed(9)
    print("batches trained with dropout on:", train(NameModel(len(CHARS))))


if __name__ == "__main__":
    main()
