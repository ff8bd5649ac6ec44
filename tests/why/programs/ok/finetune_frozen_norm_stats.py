# ok
# evidence: statistics kept: True, convolutions trained: True, loss went down: True
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))


class Detector(nn.Module):
    """Predicts the centre of a bright square."""

    def __init__(self):
        super().__init__()
        self.b1 = Block(1, 8)
        self.b2 = Block(8, 8)
        self.out = nn.Linear(8 * 6 * 6, 2)

    def forward(self, x):
        return self.out(self.b2(self.b1(x)).flatten(1))


def squares(n, noise):
    img = noise * torch.randn(n, 1, 6, 6)
    pos = torch.randint(1, 5, (n, 2))
    for i in range(n):
        r, c = pos[i].tolist()
        img[i, 0, r - 1:r + 2, c - 1:c + 2] += 1.0
    return img, (pos.float() - 2.5) / 1.5


def freeze_bn(module):
    if isinstance(module, nn.BatchNorm2d):
        module.eval()
        module.weight.requires_grad_(False)
        module.bias.requires_grad_(False)


def run(model, optimizer, steps, batch, noise, frozen_bn):
    losses = []
    for _ in range(steps):
        model.train()
        if frozen_bn:
            model.apply(freeze_bn)
        img, target = squares(batch, noise)
        loss = nn.functional.smooth_l1_loss(model(img), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    torch.manual_seed(5)
    model = Detector()
    run(model, torch.optim.Adam(model.parameters(), lr=1e-2), 12, 24, 0.1, frozen_bn=False)

    # fine-tuning with batches of four: too small for batch statistics
    model.apply(freeze_bn)
    stats = [b.clone() for n, b in model.named_buffers() if "running" in n]
    conv = model.b1.conv.weight.detach().clone()
    opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.01, momentum=0.9)
    losses = run(model, opt, 50, 4, 0.3, frozen_bn=True)
    for i in range(0, 50, 10):
        print(f"finetune {i}: {losses[i]:.4f}")
    kept = all(torch.equal(a, b) for a, b in
               zip(stats, [b for n, b in model.named_buffers() if "running" in n]))
    print(f"statistics kept: {kept}, convolutions trained: {not torch.equal(conv, model.b1.conv.weight.detach())}, "
          f"loss went down: {sum(losses[-15:]) < sum(losses[:15])}")


if __name__ == "__main__":
    main()
