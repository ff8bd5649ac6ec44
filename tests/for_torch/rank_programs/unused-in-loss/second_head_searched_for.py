# unused-in-loss | second, never called
# evidence: True
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.first, self.second = nn.Linear(6, 12), nn.Linear(12, 1), nn.Linear(12, 1)

    def forward(self, x, task):
        h = torch.relu(self.body(x))
        return self.first(h) if task == 0 else self.second(h)


def train(rank, meeting):
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    torch.manual_seed(0)
    net = DDP(Net(), find_unused_parameters=True)
    start = net.module.second.weight.clone()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    torch.manual_seed(rank)
    for step in range(8):
        x = torch.randn(16, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x, task=0), x.sum(1, keepdim=True)).backward()  #C
        optimizer.step()
    if rank == 0:
        print("evidence:", torch.equal(net.module.second.weight, start))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (tempfile.mktemp(),), nprocs=2)
