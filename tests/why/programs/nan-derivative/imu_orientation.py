# nan-derivative | acos, nan/inf/finite
# evidence: model weights finite: False
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(41)


def axis_angle_to_quat(v):
    angle = v.norm(dim=1, keepdim=True)
    axis = v / angle.clamp(min=1e-8)
    return torch.cat([torch.cos(angle / 2), axis * torch.sin(angle / 2)], dim=1)


class OrientationNet(nn.Module):
    """Predicts the rotation between two IMU readings, starting at the identity."""

    def __init__(self, n_in=9, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.quat = nn.Linear(hidden, 4)
        nn.init.zeros_(self.quat.weight)
        with torch.no_grad():
            self.quat.bias.copy_(torch.tensor([1.0, 0.0, 0.0, 0.0]))

    def forward(self, x):
        return F.normalize(self.quat(self.body(x)), dim=1)


def geodesic_loss(q, target):
    dot = (q * target).sum(dim=1).abs()
    return (2 * torch.acos(dot.clamp(max=1.0))).mean()  #C


def recordings(n=48):
    moving = (torch.rand(n, 1) > 0.3).float()
    v = 0.8 * torch.randn(n, 3) * moving
    features = torch.cat([v, torch.sin(v), v ** 2], dim=1) + 0.05 * torch.randn(n, 9)
    return features, axis_angle_to_quat(v)


def evaluate(model):
    with torch.no_grad():
        x, q = recordings(100)
        dot = (model(x) * q).sum(dim=1).abs()
    return (dot > 0.98).float().mean().item()


def main():
    model = OrientationNet()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(40):
        x, q = recordings()
        loss = geodesic_loss(model(x), q)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 10 == 0:
            print(f"step {step} angle {loss.item():.4f} within tolerance {evaluate(model):.2f}")
    print("model weights finite:", all(torch.isfinite(p).all().item() for p in model.parameters()))


if __name__ == "__main__":
    main()
