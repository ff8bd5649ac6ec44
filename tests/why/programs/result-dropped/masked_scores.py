# result-dropped | nobody keeps, no effect
# evidence: last output depends on padding: True
import math

import torch
from torch import nn

torch.manual_seed(7)
PAD = 0


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x, is_padding):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(x.shape[-1])
        scores.masked_fill(is_padding[:, None, :], float("-inf"))  #C
        return scores.softmax(-1) @ self.v(x)


class Tagger(nn.Module):
    def __init__(self, words=12, width=16):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.attend = Attention(width)
        self.out = nn.Linear(width, 2)

    def forward(self, tokens):
        x = self.embed(tokens)
        return self.out((x + self.attend(x, tokens == PAD)).mean(1))


def batches(count):
    generator = torch.Generator().manual_seed(8)
    for _ in range(count):
        tokens = torch.randint(1, 12, (24, 8), generator=generator)
        tokens[:, 5:] = torch.where(torch.rand(24, 1, generator=generator) < 0.5, PAD, tokens[:, 5:])
        yield tokens, (tokens[:, :5] > 6).sum(1).ge(3).long()


def train():
    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for tokens, labels in batches(30):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(tokens), labels).backward()
        optimizer.step()
    with torch.no_grad():
        x = torch.randn(1, 8, 16)
        padding = torch.tensor([[False] * 5 + [True] * 3])
        first = model.attend(x, padding)[:, :5]
        x[:, 5:] += 1
        print("last output depends on padding:", not torch.allclose(first, model.attend(x, padding)[:, :5]))


train()
