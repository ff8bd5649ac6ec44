# ok
# evidence: unseen rows kept: True, seen rows moved: True, loss went down: True
import torch
import torch.nn.functional as F
from torch import nn

VOCAB, SEEN = 60, 40          # the vocabulary file lists words that this corpus does not contain


class SkipGram(nn.Module):
    def __init__(self, vocab, dim=12):
        super().__init__()
        self.center = nn.Embedding(vocab, dim)
        self.context = nn.Embedding(vocab, dim)
        nn.init.uniform_(self.center.weight, -0.5 / dim, 0.5 / dim)
        nn.init.normal_(self.context.weight, std=0.1)

    def forward(self, center, positive, negative):
        c = self.center(center)
        pos = (c * self.context(positive)).sum(-1)
        neg = (self.context(negative) * c.unsqueeze(1)).sum(-1)
        return -(F.logsigmoid(pos) + F.logsigmoid(-neg).sum(1)).mean()


def corpus(length):
    ids = [0]
    for _ in range(length - 1):
        jump = int(torch.randint(1, 4, (1,)))
        ids.append((ids[-1] + jump) % SEEN)
    return torch.tensor(ids)


def pairs(text, window=2):
    out = []
    for i in range(len(text)):
        for j in range(max(0, i - window), min(len(text), i + window + 1)):
            if i != j:
                out.append((text[i].item(), text[j].item()))
    return torch.tensor(out)


def main():
    torch.manual_seed(37)
    data = pairs(corpus(400))
    model = SkipGram(VOCAB)
    before = model.center.weight.detach().clone()
    opt = torch.optim.Adagrad(model.parameters(), lr=0.3)
    epoch_losses = []
    for epoch in range(3):
        total = n = 0
        for idx in torch.randperm(len(data)).split(128):
            batch = data[idx]
            negative = torch.randint(0, SEEN, (len(batch), 4))
            loss = model(batch[:, 0], batch[:, 1], negative)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total, n = total + loss.item(), n + 1
        epoch_losses.append(total / n)
        print(f"epoch {epoch} loss {epoch_losses[-1]:.4f}")
    after = model.center.weight.detach()
    kept = torch.equal(before[SEEN:], after[SEEN:])
    moved = bool(((before - after)[:SEEN].abs().sum(1) > 0).all())
    print(f"unseen rows kept: {kept}, seen rows moved: {moved}, loss went down: {epoch_losses[-1] < epoch_losses[0]}")


if __name__ == "__main__":
    main()
