# leaf-replaced | none | leaf, assign/new tensor/no longer/result of
# evidence: True
import torch

torch.manual_seed(0)
params = {"w": torch.randn(3, requires_grad=True), "b": torch.zeros(1, requires_grad=True)}
x, y = torch.randn(20, 3), torch.randn(20)
lost = False
for epoch in range(2):
    loss = (x @ params["w"] + params["b"] - y).pow(2).mean()
    loss.backward()
    for k in params:
        g = params[k].grad  #R
        if g is None:
            lost = True
            continue
        params[k] = params[k] - 0.05 * g  #C
print("evidence:", lost)
