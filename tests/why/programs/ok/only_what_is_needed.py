# ok
# evidence: done
# a tagger that reads in both directions (its targets are no later inputs), a head of several tasks that take turns, and a
# window of which a convolution without padding reads the middle
import torch
import torch.nn as nn
import torch.nn.functional as F


class Tagger(nn.Module):
    def __init__(self, words=30, dim=16):
        super().__init__()
        self.embedding = nn.Embedding(words, dim)
        self.rnn = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, 4)

    def forward(self, tokens):
        states, _ = self.rnn(self.embedding(tokens))
        return self.out(states)


class Middle(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 8, 5)
        self.out = nn.Linear(8, 3)

    def forward(self, window):
        return self.out(torch.relu(self.conv(window)).mean(2))


def tags_of(tokens):
    return (tokens // 8).clamp(max=3)


def main():
    torch.manual_seed(0)
    tagger, middle = Tagger(), Middle()
    optimizer = torch.optim.Adam([*tagger.parameters(), *middle.parameters()], lr=5e-3)
    for step in range(60):
        tokens = torch.randint(0, 30, (12, 9))
        loss = F.cross_entropy(tagger(tokens).flatten(0, 1), tags_of(tokens).flatten())
        window = torch.randn(16, 2, 9)
        task = step % 3
        wanted = torch.stack([window[:, 0].mean(1), window[:, 1].mean(1), window.mean((1, 2))], 1)
        loss = loss + F.mse_loss(middle(window)[:, task], wanted[:, task])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
print("evidence: done")
