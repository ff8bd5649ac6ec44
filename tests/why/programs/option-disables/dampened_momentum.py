# option-disables | dampening, first
# evidence: direction of the last step is that of the first: True
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1, bias=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, dampening=1.0)  #C
steps = []
for step in range(12):
    before = model.weight.detach().clone()
    x = torch.randn(32, 3)
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    steps.append(model.weight.detach() - before)
same = torch.nn.functional.cosine_similarity(steps[0], steps[-1]).item() > 0.999
print("evidence: direction of the last step is that of the first:", same)
