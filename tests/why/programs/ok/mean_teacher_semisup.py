# ok
# evidence: teacher tracks student: True, teacher has no trainable tensors: True, accuracy improved: True
import copy

import torch
import torch.nn.functional as F
from torch import nn


def two_clusters(n):
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, 8) + (2.0 * y.float() - 1.0).unsqueeze(1) * 0.8
    return x, y


class MeanTeacher:
    def __init__(self, student, decay=0.9, max_weight=1.0, rampup=20):
        self.student = student
        self.teacher = copy.deepcopy(student)
        for p in self.teacher.parameters():
            p.requires_grad_(False)
        self.decay, self.max_weight, self.rampup = decay, max_weight, rampup
        self.opt = torch.optim.Adam(student.parameters(), lr=5e-3)

    def consistency_weight(self, step):
        # linear ramp-up: no consistency at the very first step
        return self.max_weight * min(1.0, step / self.rampup)

    def train_step(self, step, x_lab, y_lab, x_unlab):
        noise = lambda t: t + 0.2 * torch.randn_like(t)
        sup = F.cross_entropy(self.student(noise(x_lab)), y_lab)
        with torch.no_grad():
            goal = self.teacher(noise(x_unlab)).softmax(1)
        cons = F.mse_loss(self.student(noise(x_unlab)).softmax(1), goal)
        loss = sup + self.consistency_weight(step) * cons
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        with torch.no_grad():
            for t, s in zip(self.teacher.parameters(), self.student.parameters()):
                t.lerp_(s, 1 - self.decay)
        return sup.item(), cons.item()

    @torch.no_grad()
    def accuracy(self, x, y):
        return (self.teacher(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(30)
    student = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 2))
    # start from a poor decision so that there is room to improve
    with torch.no_grad():
        student[2].weight.mul_(0.1)
        student[2].bias.copy_(torch.tensor([2.0, -2.0]))
    mt = MeanTeacher(student)
    xv, yv = two_clusters(256)
    before = mt.accuracy(xv, yv)
    for step in range(60):
        x_lab, y_lab = two_clusters(16)
        x_unlab, _ = two_clusters(32)
        sup, cons = mt.train_step(step, x_lab, y_lab, x_unlab)
        if step % 20 == 19:
            print(f"step {step + 1} sup {sup:.3f} cons {cons:.4f} acc {mt.accuracy(xv, yv):.3f}")
    gap = sum((t - s).abs().mean().item() for t, s in zip(mt.teacher.parameters(), student.parameters()))
    print(f"teacher tracks student: {0 < gap < 1}, teacher has no trainable tensors: "
          f"{not any(p.requires_grad for p in mt.teacher.parameters())}, "
          f"accuracy improved: {mt.accuracy(xv, yv) > before + 0.1}")


if __name__ == "__main__":
    main()
