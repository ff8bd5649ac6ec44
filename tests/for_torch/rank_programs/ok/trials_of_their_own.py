# ok | 
# evidence: [0, 1]
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn


def train(rank, meeting):
    """Two trials with different settings: the processes do not know of each other."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=[0.05, 0.1][rank])
    for step in range(8):
        x = torch.randn(16, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
    if rank == 0:
        print("evidence:", [0, 1])


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (tempfile.mktemp(),), nprocs=2)
