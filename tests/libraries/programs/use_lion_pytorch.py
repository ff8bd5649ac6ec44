import torch
from lion_pytorch import Lion

torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
optimizer = Lion(net.parameters(), lr=1e-2, weight_decay=1e-2)
for _ in range(4):
    optimizer.zero_grad()
    loss = net(torch.ones(2, 4)).pow(2).sum()
    loss.backward()
    optimizer.step()
    print(loss.item())
