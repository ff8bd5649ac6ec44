# non-leaf-no-retain | none | leaf, retain_grad
# evidence: 9
import torch
import torch.nn as nn


class Char(nn.Module):
    def __init__(self, vocab=12, hid=16):
        super().__init__()
        self.hid = hid
        self.emb = nn.Embedding(vocab, hid)
        self.cell = nn.RNNCell(hid, hid)
        self.out = nn.Linear(hid, vocab)

    def forward(self, tokens):
        h = torch.zeros(tokens.size(0), self.hid)
        states = []
        for t in range(tokens.size(1)):
            h = self.cell(self.emb(tokens[:, t]), h)  #C
            states.append(h)
        return self.out(h), states


torch.manual_seed(3)
net = Char()
tok = torch.randint(0, 12, (4, 9))
logits, states = net(tok)
nn.functional.cross_entropy(logits, torch.randint(0, 12, (4,))).backward()
norms = []
for s in states:
    norms.append(s.grad.norm().item() if s.grad is not None else "-")  #R
print("norms per step", norms)
print("evidence:", norms.count('-'))
