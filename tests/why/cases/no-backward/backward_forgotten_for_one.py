# no-backward | no-update | backward
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)


def fit(model, target, opt, steps=4):
    x = torch.randn(8, 3)
    for _ in range(steps):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), target)
        loss.backward()
        opt.step()


def fit_critic(model, target, steps=4):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(8, 3)
    for _ in range(steps):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), target)
        opt.step()  #R #C
    return loss.item()


actor, critic = nn.Linear(3, 1), nn.Linear(3, 1)
fit(actor, torch.randn(8, 1), torch.optim.SGD(actor.parameters(), lr=0.1))
before = critic.weight.detach().clone()
fit_critic(critic, torch.randn(8, 1))
print("evidence:", torch.equal(before, critic.weight))
