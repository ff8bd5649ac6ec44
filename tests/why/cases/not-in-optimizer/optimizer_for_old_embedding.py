# not-in-optimizer | no-update | optimizer
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)


class Tagger(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.emb = nn.Embedding(vocab, 4)
        self.out = nn.Linear(4, 2)

    def extend_vocab(self, extra):
        old = self.emb.weight.detach()
        self.emb = nn.Embedding(old.shape[0] + extra, 4)  #C
        with torch.no_grad():
            self.emb.weight[:old.shape[0]] = old

    def forward(self, t):
        return self.out(self.emb(t).mean(1))


tagger = Tagger(5)
opt = torch.optim.SGD(tagger.parameters(), lr=0.1)  #C
tagger.extend_vocab(3)
snapshot = tagger.emb.weight.detach().clone()
for _ in range(3):
    loss = nn.functional.cross_entropy(tagger(torch.randint(0, 8, (6, 3))), torch.randint(0, 2, (6,)))
    tagger.zero_grad()
    loss.backward()
    opt.step()
g = tagger.emb.weight.grad  #R
print("evidence:", torch.equal(snapshot, tagger.emb.weight))
