import torch
from torchcrf import CRF

torch.manual_seed(0)
crf, layer = CRF(5, batch_first=True), torch.nn.Linear(4, 5)
optimizer = torch.optim.Adam([*crf.parameters(), *layer.parameters()], lr=0.05)
x, tags = torch.randn(3, 7, 4), torch.randint(0, 5, (3, 7))
mask = torch.arange(7) < torch.tensor([[7], [5], [3]])
for _ in range(4):
    loss = -crf(layer(x), tags, mask=mask, reduction="mean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
print(crf.decode(layer(x), mask=mask))
