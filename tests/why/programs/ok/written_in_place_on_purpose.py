# ok
# evidence: trained
# In-place writes that are meant: copies of a batch, a queue of keys, data that is prepared once.
import torch
import torch.nn.functional as F
from torch import nn


def noisy(batch):
    batch = batch.clone()
    batch[:, :2] *= 1.1
    batch += 0.1 * torch.randn_like(batch)
    return batch


def main():
    torch.manual_seed(0)
    data = torch.randn(64, 5)
    for start in range(0, 64, 16):
        part = data[start:start + 16]
        part -= part.mean(0)
        part /= part.std(0)
    queue, at = torch.zeros(32, 8), 0
    model, head = nn.Linear(5, 8), nn.Linear(8, 1)
    optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=1e-2)
    for _ in range(4):
        for start in range(0, 64, 16):
            x = data[start:start + 16]
            code = model(noisy(x))
            loss = F.mse_loss(head(code), x.sum(1, keepdim=True)) + 0.01 * (code @ queue.t()).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            queue[at:at + 16] = code.detach()
            queue[at:at + 16].clamp_(-3, 3)
            at = (at + 16) % 32
    print("trained")


main()
