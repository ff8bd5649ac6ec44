# ok
# evidence: regressor moved: True, hint loss went down: True, task loss went down: True
import torch
import torch.nn as nn
import torch.nn.functional as F


class Tower(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2))
        self.mid = nn.Sequential(nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(ch, 3)

    def forward(self, x):
        feat = self.mid(self.stem(x))
        return self.fc(feat.mean((2, 3))), feat


class Distiller(nn.Module):
    """The student sees the labels and the teacher's middle features; the teacher only looks on."""

    def __init__(self, teacher, student, c_t, c_s):
        super().__init__()
        self.teacher = teacher.eval().requires_grad_(False)
        self.student = student
        self.regressor = nn.Conv2d(c_s, c_t, 1)

    def forward(self, x, y):
        with torch.no_grad():
            _, hint = self.teacher(x)
        logits, feat = self.student(x)
        return F.cross_entropy(logits, y), F.mse_loss(self.regressor(feat), hint)


def digits(n, proto):
    y = torch.randint(0, 3, (n,))
    return proto[y] + 0.5 * torch.randn(n, 1, 8, 8), y


def train_teacher(teacher, proto, steps=20):
    opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
    for _ in range(steps):
        x, y = digits(24, proto)
        loss = F.cross_entropy(teacher(x)[0], y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"teacher loss {loss.item():.3f}")
    return teacher


def main():
    torch.manual_seed(48)
    proto = torch.randn(3, 1, 8, 8)
    model = Distiller(train_teacher(Tower(24), proto), Tower(8), 24, 8)
    reg0 = model.regressor.weight.detach().clone()
    params = list(model.student.parameters()) + list(model.regressor.parameters())
    opt = torch.optim.AdamW(params, lr=5e-3)
    tasks, hints = [], []
    for step in range(50):
        x, y = digits(24, proto)
        task, hint = model(x, y)
        loss = task + 2.0 * hint
        opt.zero_grad()
        loss.backward()
        opt.step()
        tasks.append(task.item())
        hints.append(hint.item())
        if step % 10 == 9:
            print(f"step {step + 1} task {tasks[-1]:.3f} hint {hints[-1]:.4f}")
    print(f"regressor moved: {not torch.equal(reg0, model.regressor.weight.detach())}, "
          f"hint loss went down: {sum(hints[-5:]) < sum(hints[:5])}, "
          f"task loss went down: {sum(tasks[-5:]) < sum(tasks[:5])}")


if __name__ == "__main__":
    main()
