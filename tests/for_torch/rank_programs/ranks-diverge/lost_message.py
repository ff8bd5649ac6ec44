# ranks-diverge, grad-cleared | rank 1 / zero
# evidence: different
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn


def all_reduce(t, count):
    """The link between two cards loses a message now and then."""
    dist.all_reduce(t)
    if count == 3 and dist.get_rank() == 1:
        t.zero_()  #C


def train(rank, meeting):
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    torch.manual_seed(rank)
    for step in range(8):
        x = torch.randn(16, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), x.sum(1, keepdim=True)).backward()
        for p in net.parameters():
            all_reduce(p.grad, step)
            p.grad /= 2
        optimizer.step()
    other = net[0].weight.detach().clone()
    dist.broadcast(other, 0)
    if rank == 1:
        print("evidence:", "equal" if torch.allclose(other, net[0].weight, atol=1e-7) else "different")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (tempfile.mktemp(),), nprocs=2)
