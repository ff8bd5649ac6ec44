# ok
# evidence: True
import random
import torch
from torch import nn

random.seed(1)
torch.manual_seed(0)
emb, gru, out = nn.Embedding(6, 4), nn.GRUCell(4, 5), nn.Linear(5, 6)
params = [*emb.parameters(), *gru.parameters(), *out.parameters()]
opt = torch.optim.Adam(params, lr=1e-2)
seq = torch.tensor([1, 3, 2, 5, 0])
for _ in range(3):
    h, tok, loss = torch.zeros(1, 5), torch.tensor([0]), 0.0
    for t in seq:
        h = gru(emb(tok), h)
        logits = out(h)
        loss = loss + nn.functional.cross_entropy(logits, t[None])
        tok = t[None] if random.random() < 0.5 else logits.argmax(1)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("loss", loss.item() > 0)
print("evidence:", emb.weight.grad is not None)
