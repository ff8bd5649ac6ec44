# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
emb = nn.Embedding(10, 4, padding_idx=0)
fc = nn.Linear(4, 2)
tokens = torch.tensor([[1, 2, 0], [3, 0, 0]])
opt = torch.optim.Adam([*emb.parameters(), *fc.parameters()])
loss = nn.functional.cross_entropy(fc(emb(tokens).mean(1)), torch.tensor([0, 1]))
loss.backward()
g = emb.weight.grad
opt.step()
print("evidence:", bool((g[0] == 0).all()))
