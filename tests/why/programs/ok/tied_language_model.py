# ok
# evidence: one shared tensor: True, perplexity went down: True
import math

import torch
from torch import nn


class RNNLM(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.encoder = nn.Embedding(vocab, dim)
        self.drop = nn.Dropout(0.1)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.Linear(dim, vocab)
        nn.init.normal_(self.encoder.weight, std=0.2)
        self.decoder.weight = self.encoder.weight       # input and output share their matrix

    def forward(self, ids):
        h, _ = self.rnn(self.drop(self.encoder(ids)))
        return self.decoder(self.drop(h))


def markov_text(n, length, vocab):
    """Next symbol is one of two followers of the present one."""
    ids = torch.empty(n, length, dtype=torch.long)
    ids[:, 0] = torch.randint(0, vocab, (n,))
    for t in range(1, length):
        step = 1 + 2 * torch.randint(0, 2, (n,))
        ids[:, t] = (ids[:, t - 1] * 3 + step) % vocab
    return ids


@torch.no_grad()
def perplexity(model, ids, criterion):
    model.eval()
    loss = criterion(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    model.train()
    return math.exp(loss.item())


def main():
    torch.manual_seed(42)
    vocab = 14
    train, val = markov_text(96, 12, vocab), markov_text(32, 12, vocab)
    model = RNNLM(vocab, 24)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    start = perplexity(model, val, criterion)
    for epoch in range(6):
        for idx in torch.randperm(len(train)).split(16):
            ids = train[idx]
            optimizer.zero_grad()
            loss = criterion(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        end = perplexity(model, val, criterion)
        print(f"epoch {epoch} train loss {loss.item():.3f} val ppl {end:.2f}")
    print(f"one shared tensor: {model.decoder.weight is model.encoder.weight}, perplexity went down: {end < start}")


if __name__ == "__main__":
    main()
