import torch
from spikingjelly.activation_based import neuron, functional, layer, surrogate, encoding

torch.manual_seed(0)
net = torch.nn.Sequential(
    layer.Linear(6, 16), neuron.LIFNode(surrogate_function=surrogate.ATan()), layer.Linear(16, 3), neuron.IFNode()
)
functional.set_step_mode(net, "m")
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
x, y = torch.rand(8, 6), torch.arange(8) % 3
for _ in range(4):
    out = net(x.expand(5, 8, 6)).mean(0)
    loss = torch.nn.functional.cross_entropy(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    functional.reset_net(net)
    print(loss.item())
print(encoding.PoissonEncoder()(x).sum().item())
