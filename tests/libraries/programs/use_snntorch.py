import snntorch as snn
import torch
from snntorch import spikegen, surrogate
from snntorch import functional as SF

torch.manual_seed(0)
data = spikegen.rate(torch.rand(8, 10), num_steps=6)
first, second = torch.nn.Linear(10, 12), torch.nn.Linear(12, 3)
lif1 = snn.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid(slope=25))
lif2 = snn.Leaky(beta=0.8, learn_beta=True, spike_grad=surrogate.atan())
loss_function = SF.ce_rate_loss()
targets = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
parameters = [*first.parameters(), *second.parameters(), *lif2.parameters()]
optimizer = torch.optim.Adam(parameters, lr=0.01)
for _ in range(3):
    mem1, mem2 = lif1.init_leaky(), lif2.init_leaky()
    spikes = []
    for step in data:
        spk1, mem1 = lif1(first(step), mem1)
        spk2, mem2 = lif2(second(spk1), mem2)
        spikes.append(spk2)
    loss = loss_function(torch.stack(spikes), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item(), torch.stack(spikes).sum().item(), lif2.beta.item())
