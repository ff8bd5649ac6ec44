# not-in-optimizer | no-update | optimizer
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)  #C
sd = {k: v.clone() for k, v in net.state_dict().items()}
net.load_state_dict(sd, assign=True)  #C
w0 = net[0].weight.detach().clone()
x, y = torch.randn(8, 4), torch.randn(8, 1)
for _ in range(4):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()  #R
print("evidence:", torch.equal(w0, net[0].weight))
