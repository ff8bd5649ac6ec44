import copy
import hashlib
import io
import pickle

import torch
import torch.nn as nn

torch.manual_seed(0)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def saved(thing):
    file = io.BytesIO()
    torch.save(thing, file)
    return file.getvalue()


net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
for _ in range(3):
    optimizer.zero_grad()
    loss = net(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
    scheduler.step()
for thing in (net.state_dict(), optimizer.state_dict(), scheduler.state_dict(),
              net[0].weight, net[0].weight.grad, net, optimizer):
    print(type(thing).__name__, len(saved(thing)), digest(saved(thing)))
for t in (net[0].weight, net[0].weight.grad, loss, loss.detach(), net[0].weight.data):
    print(sorted(vars(t)), type(t.grad_fn).__name__, t.is_leaf, t.requires_grad)
again = torch.load(io.BytesIO(saved(net)), weights_only=False)
other = copy.deepcopy(net)
shallow = copy.copy(net[0].weight)
for p, q, r in zip(net.parameters(), again.parameters(), other.parameters(), strict=True):
    print(torch.equal(p, q), torch.equal(p, r), r.grad is not None, type(r).__name__, sorted(vars(r)))
print(sorted(vars(net)), sorted(vars(net[0])), sorted(vars(optimizer)), sorted(vars(scheduler)), sorted(vars(shallow)))
print(optimizer, net, scheduler.get_last_lr(), sorted(optimizer.state_dict()))
twin = copy.deepcopy(optimizer)
twin.load_state_dict(optimizer.state_dict())
print(twin.param_groups[0]["lr"], pickle.loads(pickle.dumps(torch.ones(2))))
try:
    copy.deepcopy(loss)
except RuntimeError as error:
    print(type(error), str(error).splitlines()[0])
