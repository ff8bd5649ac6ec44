# ddp-search-needless | find_unused_parameters
# evidence: equal
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def train(rank, meeting):
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    torch.manual_seed(0)
    x = torch.randn(128, 6)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    sampler = DistributedSampler(data, num_replicas=2, rank=rank)
    loader = DataLoader(data, batch_size=16, sampler=sampler)
    net = DDP(nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 1)), find_unused_parameters=True)  #C
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            optimizer.step()
        if rank == 0:
            net.eval()
            with torch.no_grad():
                net.module(x)
            net.train()
    other = net.module[0].weight.detach().clone()
    dist.broadcast(other, 0)
    if rank == 1:
        print("evidence:", "equal" if torch.allclose(other, net.module[0].weight, atol=1e-7) else "different")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (tempfile.mktemp(),), nprocs=2)
