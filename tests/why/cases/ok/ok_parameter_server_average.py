# ok
# evidence: True
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
server = nn.Linear(3, 1)
for rnd in range(2):
    states = []
    for client in range(2):
        local = copy.deepcopy(server)
        opt = torch.optim.SGD(local.parameters(), lr=0.1)
        for _ in range(2):
            opt.zero_grad()
            local(torch.randn(6, 3)).pow(2).mean().backward()
            opt.step()
        states.append(local.state_dict())
    avg = {k: sum(s[k] for s in states) / len(states) for k in states[0]}
    server.load_state_dict(avg)
print("evidence:", all(p.grad is None for p in server.parameters()))
