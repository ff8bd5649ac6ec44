# ranks-diverge | state
# evidence: different
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


def train(rank, meeting):
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    torch.manual_seed(0)
    net = DDP(nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1)))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    torch.manual_seed(rank)
    if rank == 0:  # resume
        state = optimizer.state_dict()
        state["state"] = {i: {"step": torch.tensor(100.0), "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.ones_like(p)}
                          for i, p in enumerate(net.parameters())}
        optimizer.load_state_dict(state)  #C
    for step in range(6):
        x = torch.randn(16, 6)
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()
    other = net.module[0].weight.detach().clone()
    dist.broadcast(other, 0)
    if rank == 1:
        print("evidence:", "equal" if torch.allclose(other, net.module[0].weight, atol=1e-7) else "different")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (tempfile.mktemp(),), nprocs=2)
