# ok
# evidence: direction has unit length: True, loss went down: True
import torch
import torch.nn.functional as F
from torch import nn


class TextCNN(nn.Module):
    def __init__(self, vocab=30, dim=12, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, 20, 3, padding=1)
        self.fc = nn.Linear(20, classes)

    def from_embedding(self, e):
        return self.fc(torch.tanh(self.conv(e.transpose(1, 2))).amax(-1))

    def forward(self, ids):
        return self.from_embedding(self.embed(ids))


def normalize(d):
    return d / (d.flatten(1).norm(dim=1)[:, None, None] + 1e-12)


def vat(model, e, xi=0.1, eps=1.0):
    """Smoothness of the output in the worst direction; the reference distribution is held fixed."""
    with torch.no_grad():
        ref = model.from_embedding(e).softmax(1)
    d = (xi * normalize(torch.randn_like(e))).requires_grad_(True)
    kl = F.kl_div(model.from_embedding(e.detach() + d).log_softmax(1), ref, reduction="batchmean")
    direction = normalize(torch.autograd.grad(kl, d)[0])
    logp = model.from_embedding(e + eps * direction).log_softmax(1)
    return F.kl_div(logp, ref, reduction="batchmean"), direction


def main():
    torch.manual_seed(38)
    model = TextCNN()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses, unit = [], True
    for step in range(40):
        y = torch.randint(0, 3, (24,))
        ids = torch.randint(0, 30, (24, 8))
        ids[:, 2] = y                       # a telling word
        ids[:, 5] = y
        e = model.embed(ids)
        sup = F.cross_entropy(model.from_embedding(e), y)
        smooth, direction = vat(model, e)
        loss = sup + 0.5 * smooth
        opt.zero_grad()
        loss.backward()
        opt.step()
        unit = unit and bool((direction.flatten(1).norm(dim=1) - 1).abs().max() < 1e-2)
        losses.append(sup.item())
        if step % 10 == 9:
            print(f"step {step + 1} sup {sup.item():.3f} vat {smooth.item():.4f}")
    print(f"direction has unit length: {unit}, loss went down: {sum(losses[-6:]) < sum(losses[:6])}")


if __name__ == "__main__":
    main()
