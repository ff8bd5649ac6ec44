# epoch-not-set
# evidence: done
"""Data-parallel training (gloo); also runs as a single process."""
import os
import tempfile
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Blobs(Dataset):
    def __init__(self, n=512, d=10, classes=4):
        g = torch.Generator().manual_seed(0)
        centers = torch.randn(classes, d, generator=g)
        self.y = torch.randint(0, classes, (n,), generator=g)
        self.x = centers[self.y] + 0.8 * torch.randn(n, d, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def setup():
    rank = int(os.environ.get("RANK", 0))
    world = int(os.environ.get("WORLD_SIZE", 1))
    store = os.path.join(tempfile.mkdtemp(), "store")
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    return rank, world


def train_one_epoch(epoch, model, loader, opt, rank):
    model.train()
    total = 0.0
    for x, y in loader:  #C
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    if rank == 0:
        print(f"epoch {epoch} loss {total / len(loader):.4f}")


def main():
    rank, world = setup()
    torch.manual_seed(0)
    data = Blobs()
    sampler = DistributedSampler(data, num_replicas=world, rank=rank, shuffle=True, seed=11)  #C
    loader = DataLoader(data, batch_size=32, sampler=sampler, num_workers=0)  #C
    model = DDP(nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(4):  #C
        train_one_epoch(epoch, model, loader, opt, rank)  #C
    if rank == 0:
        torch.save(model.module.state_dict(), os.path.join(tempfile.mkdtemp(), "final.pt"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
print("evidence: done")
