# update-too-small | bfloat16/bf16/precision/round/half, update/small/lr/change
# evidence: share of weights that never changed above 75 percent: True
import math
import torch
from torch import nn
import torch.nn.functional as F

WORDS = "a dog runs on the grass . a cat sits on the mat . the dog sees a cat . the cat runs .".split()


class EqualLinear(nn.Module):
    """Weights of unit variance, scaled down when they are used."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in))
        self.scale = 1 / math.sqrt(n_in)

    def forward(self, x):
        return F.linear(x, self.weight) * self.scale


class TinyLM(nn.Module):
    """Predicts the next word from the two words before it."""

    def __init__(self, vocab, dim=16, hidden=64):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.fc1 = EqualLinear(2 * dim, hidden)
        self.fc2 = EqualLinear(hidden, vocab)

    def forward(self, context):
        h = self.embed(context).flatten(1)
        return self.fc2(torch.tanh(self.fc1(h)))


def make_pairs(words):
    vocab = {w: i for i, w in enumerate(sorted(set(words)))}
    ids = [vocab[w] for w in words]
    context = torch.tensor([[ids[i], ids[i + 1]] for i in range(len(ids) - 2)])
    target = torch.tensor(ids[2:])
    return context, target, len(vocab)


def fit(model, context, target, steps=120, lr=5e-4):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)  #C
    for step in range(steps):
        pick = torch.randperm(len(target))[:16]
        logits = model(context[pick])
        loss = F.cross_entropy(logits.float(), target[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.4f}")


def main():
    torch.manual_seed(0)
    context, target, vocab = make_pairs(WORDS)
    model = TinyLM(vocab).to(torch.bfloat16)  #C
    start = [p.detach().clone() for p in model.parameters()]
    fit(model, context, target)
    same = sum((p == s).sum().item() for p, s in zip(model.parameters(), start))
    total = sum(p.numel() for p in model.parameters())
    print("share of weights that never changed above 75 percent:", same / total > 0.75)


if __name__ == "__main__":
    main()
