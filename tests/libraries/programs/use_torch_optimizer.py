import warnings

import torch
import torch_optimizer

warnings.simplefilter("ignore")
for name in ("RAdam", "Lookahead", "Yogi", "NovoGrad", "AdaBound", "DiffGrad", "SGDW", "QHAdam", "Apollo"):
    torch.manual_seed(0)
    net = torch.nn.Linear(4, 2)
    kind = getattr(torch_optimizer, name)
    optimizer = kind(torch_optimizer.Yogi(net.parameters(), lr=1e-2)) if name == "Lookahead" else kind(net.parameters(), lr=1e-2)
    for _ in range(5):
        optimizer.zero_grad()
        loss = net(torch.ones(3, 4)).pow(2).sum()
        loss.backward()
        optimizer.step()
    print(name, loss.item())
