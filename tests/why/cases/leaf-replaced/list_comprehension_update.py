# leaf-replaced, non-leaf-no-retain | none | leaf
# evidence: [False, True]
import torch

torch.manual_seed(0)
params = [torch.randn(2, 2, requires_grad=True), torch.zeros(2, requires_grad=True)]
x = torch.randn(5, 2)
none_seen = []
for it in range(2):
    out = torch.tanh(x @ params[0] + params[1])
    out.pow(2).mean().backward()
    grads = [p.grad for p in params]  #R
    none_seen.append(any(g is None for g in grads))
    if none_seen[-1]:
        break
    params = [p - 0.1 * g for p, g in zip(params, grads)]  #C
print("evidence:", none_seen)
