# unused-in-loss | none | loss
# evidence: True
import torch

torch.manual_seed(0)
w = torch.randn(4, requires_grad=True)
log_lambda = torch.zeros(1, requires_grad=True)
x, y = torch.randn(10, 4), torch.randn(10)
penalty = log_lambda.exp() * w.pow(2).sum()
loss = (x @ w - y).pow(2).mean()  #C
loss.backward()
hyper_grad = log_lambda.grad  #R
print("evidence:", hyper_grad is None)
