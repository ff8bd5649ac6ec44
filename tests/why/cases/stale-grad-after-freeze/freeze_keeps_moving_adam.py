# stale-grad-after-freeze | stale | requires_grad, left over/earlier/stale
# evidence: True False
import torch
import torch.nn as nn

torch.manual_seed(0)
emb = nn.Embedding(5, 3)
clf = nn.Linear(3, 2)
opt = torch.optim.Adam([*emb.parameters(), *clf.parameters()], lr=0.01)
tok, lab = torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1])


def step():
    loss = nn.functional.cross_entropy(clf(emb(tok)), lab)
    loss.backward()
    opt.step()
    clf.zero_grad()


step()
emb.weight.requires_grad_(False)  #C
step()
leftover = emb.weight.grad  #R
print("evidence:", leftover is not None, emb.weight.requires_grad)
