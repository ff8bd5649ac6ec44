# unused-in-loss | loss
# evidence: backward reader moved: False
# parameters: bwd.weight_ih_l0, bwd.weight_hh_l0, bwd.bias_ih_l0, bwd.bias_hh_l0
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(33)


class TwoWayReader(nn.Module):
    """One GRU reads from the left, another one from the right."""

    def __init__(self, vocab=12, dim=8, hidden=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.fwd = nn.GRU(dim, hidden, batch_first=True)
        self.bwd = nn.GRU(dim, hidden, batch_first=True)  #C
        self.mix = nn.Linear(2 * hidden, 32)
        self.out = nn.Linear(32, 2)

    def forward(self, ids):
        x = self.emb(ids)
        left, _ = self.fwd(x)
        right, _ = self.fwd(x.flip(1))  #C
        h = torch.cat([left[:, -1], right[:, -1]], dim=1)
        return self.out(F.relu(self.mix(h)))


def brackets(n, length=10):
    ids = torch.randint(0, 12, (n, length))
    label = (ids[:, 0] < 6).long() ^ (ids[:, -1] < 6).long()
    return ids, label


def evaluate(model):
    model.eval()
    with torch.no_grad():
        ids, y = brackets(200)
        acc = (model(ids).argmax(1) == y).float().mean().item()
    model.train()
    return acc


def main():
    model = TwoWayReader()
    groups = [
        {"params": [p for n, p in model.named_parameters() if n.endswith("weight") or "weight_" in n]},
        {"params": [p for n, p in model.named_parameters() if "bias" in n], "lr": 1e-2},
    ]
    opt = torch.optim.Adam(groups, lr=5e-3)
    first = model.bwd.weight_hh_l0.detach().clone()
    for step in range(50):
        ids, y = brackets(64)
        loss = F.cross_entropy(model(ids), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 9:
            print(f"step {step + 1} loss {loss.item():.4f} acc {evaluate(model):.3f}")
    print("backward reader moved:", not torch.equal(first, model.bwd.weight_hh_l0))


if __name__ == "__main__":
    main()
