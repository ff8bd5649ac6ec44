# ranks-diverge | random, broadcast
# evidence: different
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn


def train(rank, meeting):
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    torch.manual_seed(1234 + rank)
    net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))  #C
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(6):
        x = torch.randn(16, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), x.sum(1, keepdim=True)).backward()
        for p in net.parameters():
            dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
            p.grad.div_(2)
        optimizer.step()
    other = net[0].weight.detach().clone()
    dist.broadcast(other, 0)
    if rank == 1:
        print("evidence:", "equal" if torch.allclose(other, net[0].weight, atol=1e-7) else "different")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (tempfile.mktemp(),), nprocs=2)
