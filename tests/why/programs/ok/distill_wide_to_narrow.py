# ok
# evidence: teacher unchanged: True, student agrees more with teacher: True
import torch
import torch.nn.functional as F
from torch import nn


def net(h):
    return nn.Sequential(nn.Linear(10, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 4))


def batch(w, n=64):
    x = torch.randn(n, 10)
    return x, torch.sin(x @ w).argmax(1)


def train_teacher(teacher, w, steps=60):
    opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
    for _ in range(steps):
        x, y = batch(w)
        loss = F.cross_entropy(teacher(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def kd_loss(student_logits, teacher_logits, y, T=3.0, alpha=0.7):
    soft = F.kl_div(F.log_softmax(student_logits / T, dim=1), F.softmax(teacher_logits / T, dim=1),
                    reduction="batchmean") * T * T
    return alpha * soft + (1 - alpha) * F.cross_entropy(student_logits, y)


def main():
    torch.manual_seed(66)
    w = torch.randn(10, 4) / 2
    teacher, student = net(64), net(12)
    print(f"teacher loss {train_teacher(teacher, w):.3f}")
    teacher.eval()
    frozen = [p.detach().clone() for p in teacher.parameters()]
    xv, _ = batch(w, 256)

    def agreement():
        with torch.no_grad():
            return (student(xv).argmax(1) == teacher(xv).argmax(1)).float().mean().item()

    first = agreement()
    opt = torch.optim.Adam(student.parameters(), lr=1e-2)
    for step in range(60):
        x, y = batch(w)
        with torch.no_grad():
            t = teacher(x)
        loss = kd_loss(student(x), t, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 15 == 14:
            print(f"step {step + 1} kd loss {loss.item():.3f} agreement {agreement():.3f}")
    same = all(torch.equal(a, b) for a, b in zip(frozen, teacher.parameters()))
    print(f"teacher unchanged: {same}, student agrees more with teacher: {agreement() > first}")


if __name__ == "__main__":
    main()
