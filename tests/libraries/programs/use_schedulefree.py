import schedulefree
import torch

torch.manual_seed(0)
for kind in (schedulefree.AdamWScheduleFree, schedulefree.SGDScheduleFree):
    net = torch.nn.Linear(4, 2)
    optimizer = kind(net.parameters(), lr=0.05)
    optimizer.train()
    for _ in range(4):
        optimizer.zero_grad()
        loss = net(torch.ones(3, 4)).pow(2).sum()
        loss.backward()
        optimizer.step()
    optimizer.eval()
    print(loss.item(), net.weight.sum().item())
