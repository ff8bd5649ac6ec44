# wrong-loss-input | kl/kldivloss/kl_div, log
# evidence: student close to the teacher: False
import torch
import torch.nn as nn
import torch.nn.functional as F

TEMPERATURE = 2.0


def make_teacher():
    teacher = nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, 5))
    for p in teacher.parameters():
        p.requires_grad_(False)
    teacher[2].weight.mul_(6.0)
    return teacher.eval()


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 24), nn.Tanh())
        self.head = nn.Linear(24, 5)

    def forward(self, x):
        return self.head(self.body(x))


class DistillationLoss(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.t = temperature
        self.kl = nn.KLDivLoss(reduction="batchmean")

    def forward(self, student_logits, teacher_logits):
        p_student = F.softmax(student_logits / self.t, dim=-1)  #C
        p_teacher = F.softmax(teacher_logits / self.t, dim=-1)
        return self.kl(p_student, p_teacher) * self.t ** 2  #C


def main():
    torch.manual_seed(33)
    teacher, student = make_teacher(), Student()
    criterion = DistillationLoss(TEMPERATURE)
    optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
    for step in range(60):
        x = torch.randn(32, 6)
        with torch.no_grad():
            soft = teacher(x)
        loss = criterion(student(x), soft)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 15 == 0:
            print(f"step {step} kd loss {loss.item():.4f}")

    x = torch.randn(256, 6)
    with torch.no_grad():
        p = F.softmax(teacher(x) / TEMPERATURE, dim=-1)
        gap = (p * (p.log() - F.log_softmax(student(x) / TEMPERATURE, dim=-1))).sum(-1).mean().item()
    print(f"student close to the teacher: {gap < 0.1}")


if __name__ == "__main__":
    main()
