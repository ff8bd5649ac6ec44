# value-copied-out, unused-in-loss | none | item, graph/history/number
# evidence: True True
import torch

temperature = torch.tensor(2.0, requires_grad=True)
logits = torch.randn(4, 3, requires_grad=True)


def soften(z, t):
    return torch.log_softmax(z / t, dim=1)


logp = soften(logits, temperature.item())  #C
loss = -logp[:, 0].mean()
loss.backward()
g = temperature.grad  #R
print("evidence:", g is None, logits.grad is not None)
