# unused-in-loss, loss-unused | loss
# evidence: box head moved: False
import torch
from torch import nn
import torch.nn.functional as F


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.kind, self.box = nn.Linear(6, 16), nn.Linear(16, 3), nn.Linear(16, 4)
        self.logged = []

    def training_step(self, x, kind, box):
        h = torch.relu(self.body(x))
        loss = F.cross_entropy(self.kind(h), kind)
        whole = loss + 2.0 * F.smooth_l1_loss(self.box(h), box)  #C
        self.logged.append(float(whole.detach()))
        return loss


def main():
    torch.manual_seed(0)
    model = Detector()
    before = model.box.weight.clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(10):
        x = torch.randn(16, 6)
        loss = model.training_step(x, x[:, :3].argmax(1), x[:, :4].sigmoid())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"box head moved: {not torch.equal(before, model.box.weight)}")


main()
