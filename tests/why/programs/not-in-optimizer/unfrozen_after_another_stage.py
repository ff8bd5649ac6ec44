# not-in-optimizer
# evidence: body moved: False
import torch
import torch.nn.functional as F
from torch import nn


def stage(parameters, loss_of, steps, lr=1e-2, before=None):
    optimizer = torch.optim.Adam([p for p in parameters if p.requires_grad], lr=lr)  #C
    for step in range(steps):
        if before is not None:
            before(step)
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()


def main():
    torch.manual_seed(0)
    body, decoder, head = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 2)
    model = nn.Sequential(body, nn.Tanh(), head)
    x = torch.randn(40, 6)
    y = (x[:, 0] > 0).long()
    stage([*body.parameters(), *decoder.parameters()], lambda: F.mse_loss(decoder(torch.tanh(body(x))), x), 6)
    body.requires_grad_(False)
    before = body.weight.clone()

    def unfreeze(step):
        if step == 4:
            body.requires_grad_(True)

    stage(model.parameters(), lambda: F.cross_entropy(model(x), y), 14, before=unfreeze)
    print(f"body moved: {not torch.equal(before, body.weight)}")


main()
