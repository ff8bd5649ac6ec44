# loss-unused, unused-in-loss | aux
# evidence: auxiliary classifier moved: False
# parameters: aux.weight, aux.bias
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(52)


class Inception(nn.Module):
    def __init__(self, c_in, c):
        super().__init__()
        self.b1 = nn.Conv2d(c_in, c, 1)
        self.b3 = nn.Conv2d(c_in, c, 3, padding=1)

    def forward(self, x):
        return F.relu(torch.cat([self.b1(x), self.b3(x)], dim=1))


class AuxNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.stage1 = Inception(1, 6)
        self.stage2 = Inception(12, 8)
        self.aux = nn.Linear(12, classes)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        h = F.max_pool2d(self.stage1(x), 2)
        aux = self.aux(h.mean(dim=(2, 3))) if self.training else None
        h = self.stage2(h)
        return self.fc(h.mean(dim=(2, 3))), aux


def textures(n=160):
    y = torch.randint(0, 4, (n,))
    base = torch.randn(4, 1, 8, 8)
    return TensorDataset(base[y] + 0.4 * torch.randn(n, 1, 8, 8), y)


class Learner:
    def __init__(self, model, lr=5e-3, aux_weight=0.4):
        self.model, self.aux_weight = model, aux_weight
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def fit_batch(self, x, y):
        self.model.train()
        out, aux = self.model(x)
        loss = F.cross_entropy(out, y)
        if aux is not None:
            loss + self.aux_weight * F.cross_entropy(aux, y)  #C
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def accuracy(self, data):
        self.model.eval()
        x, y = data.tensors
        with torch.no_grad():
            out, _ = self.model(x)
        return (out.argmax(1) == y).float().mean().item()


def main():
    data = textures()
    loader = DataLoader(data, batch_size=32, shuffle=True)
    learner = Learner(AuxNet())
    before = learner.model.aux.weight.detach().clone()
    for epoch in range(5):
        losses = [learner.fit_batch(x, y) for x, y in loader]
        print(f"epoch {epoch} loss {sum(losses) / len(losses):.3f} acc {learner.accuracy(data):.3f}")
    print("auxiliary classifier moved:", not torch.equal(before, learner.model.aux.weight))


if __name__ == "__main__":
    main()
