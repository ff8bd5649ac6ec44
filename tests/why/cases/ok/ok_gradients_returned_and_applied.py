# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
rnn = nn.RNN(3, 5, batch_first=True)
out = nn.Linear(5, 1)
params = list(rnn.parameters()) + list(out.parameters())
lr = 0.05
x, y = torch.randn(6, 9, 3), torch.randn(6, 1)
for _ in range(3):
    h, _ = rnn(x)
    loss = (out(h[:, -1]) - y).pow(2).mean()
    grads = torch.autograd.grad(loss, params)
    total = torch.sqrt(sum(g.pow(2).sum() for g in grads))
    scale = (1.0 / (total + 1e-6)).clamp(max=1.0)
    with torch.no_grad():
        for p, g in zip(params, grads):
            p.sub_(lr * scale * g)
print("evidence:", params[0].grad is None)
