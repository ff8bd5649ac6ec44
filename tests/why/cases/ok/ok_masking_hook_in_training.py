# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
emb = nn.Embedding(12, 4)
pretrained = emb.weight.detach().clone()
keep = torch.zeros(12, 1); keep[8:] = 1
emb.weight.register_hook(lambda g: g * keep)
fc = nn.Linear(4, 2)
opt = torch.optim.SGD([*emb.parameters(), *fc.parameters()], lr=0.5)
for _ in range(5):
    ids = torch.randint(0, 12, (6, 3))
    loss = nn.functional.cross_entropy(fc(emb(ids).mean(1)), torch.randint(0, 2, (6,)))
    opt.zero_grad(); loss.backward(); opt.step()
print("rows that moved:", int((emb.weight.grad.abs().sum(1) > 0).sum()) <= 4)
print("evidence:", torch.equal(emb.weight[:8], pretrained[:8]))
