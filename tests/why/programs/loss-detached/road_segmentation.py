# loss-detached, grad-mode-off | no_grad/grad mode/gradient mode/recording
# evidence: edge term carries a graph: False
# parameters: edge.weight, edge.bias
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(36)


class RoadNet(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.enc1 = nn.Conv2d(1, ch, 3, padding=1)
        self.enc2 = nn.Conv2d(ch, ch, 3, padding=1)
        self.road = nn.Conv2d(ch, 1, 1)
        self.edge = nn.Conv2d(ch, 1, 1)

    def forward(self, x):
        h = F.relu(self.enc2(F.relu(self.enc1(x))))
        return self.road(h), self.edge(h)


@torch.no_grad()  #C
def soft_dice(logits, target, eps=1.0):  #C
    p = torch.sigmoid(logits).flatten(1)
    t = target.flatten(1)
    return ((2 * (p * t).sum(1) + eps) / (p.sum(1) + t.sum(1) + eps)).mean()


def roads(n=80, size=12):
    img = 0.3 * torch.randn(n, 1, size, size)
    road = torch.zeros(n, 1, size, size)
    left = torch.randint(1, size - 5, (n,))
    for i, c in enumerate(left.tolist()):
        road[i, 0, :, c:c + 4] = 1.0
    edge = F.max_pool2d(road, 3, 1, 1) - road
    return TensorDataset(img + road, road, edge)


def compute_losses(model, img, road, edge):
    road_logit, edge_logit = model(img)
    road_loss = F.binary_cross_entropy_with_logits(road_logit, road)
    edge_loss = 1.0 - soft_dice(edge_logit, edge)  #C
    return road_loss + 0.5 * edge_loss, edge_loss, soft_dice(road_logit, road)


def main():
    loader = DataLoader(roads(), batch_size=16, shuffle=True)
    model = RoadNet()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    carries = False
    for epoch in range(4):
        dice_sum = edge_sum = 0.0
        for img, road, edge in loader:
            loss, edge_loss, dice = compute_losses(model, img, road, edge)
            opt.zero_grad()
            loss.backward()
            opt.step()
            dice_sum += dice.item()
            edge_sum += edge_loss.item()
            carries = carries or edge_loss.requires_grad
        print(f"epoch {epoch} road dice {dice_sum / len(loader):.3f} edge loss {edge_sum / len(loader):.3f}")
    print("edge term carries a graph:", carries)


if __name__ == "__main__":
    main()
