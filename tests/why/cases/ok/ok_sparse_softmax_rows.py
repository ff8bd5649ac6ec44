# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
tok, pos = nn.Embedding(12, 8), nn.Embedding(6, 8)
att = nn.MultiheadAttention(8, 2, batch_first=True)
out = nn.Linear(8, 12)
opt = torch.optim.AdamW([*tok.parameters(), *pos.parameters(), *att.parameters(), *out.parameters()], lr=1e-3)
ids = torch.randint(0, 12, (2, 5))
mask = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
for _ in range(2):
    h = tok(ids) + pos(torch.arange(5))
    h = h + att(h, h, h, attn_mask=mask)[0]
    loss = nn.functional.cross_entropy(out(h)[:, :-1].reshape(-1, 12), ids[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
g = tok.weight.grad
print("evidence:", g is not None and pos.weight.grad is not None)
