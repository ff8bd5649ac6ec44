# loss-constant, module-aliased | teacher/itself/same/constant/zero
# evidence: loss above 1e-6 in any step: False
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(110)


class Net(nn.Module):
    def __init__(self, hidden=32, classes=4):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.head(self.body(x))


def make_student(teacher):
    """Same body as the teacher, fresh head."""
    student = teacher  #C
    student.head.reset_parameters()
    return student


def kd_loss(student_logits, teacher_logits, T=2.0):
    log_p = F.log_softmax(student_logits / T, dim=1)
    q = F.softmax(teacher_logits / T, dim=1)
    return F.kl_div(log_p, q, reduction="batchmean") * T * T  #C


def data(n=320):
    centers = 1.5 * torch.randn(4, 10)
    y = torch.randint(0, 4, (n,))
    return TensorDataset(centers[y] + torch.randn(n, 10), y)


def pretrain_teacher(loader, epochs=4):
    teacher = Net()
    opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
    for _ in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            loss = F.cross_entropy(teacher(x), y)
            loss.backward()
            opt.step()
    print(f"teacher loss {loss.item():.4f}")
    return teacher


def distill(student, teacher, loader, epochs=4):
    opt = torch.optim.SGD(student.parameters(), lr=0.05)
    losses = []
    for epoch in range(epochs):
        for x, _ in loader:
            with torch.no_grad():
                soft = teacher(x)
            loss = kd_loss(student(x), soft)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        print(f"distill epoch {epoch} loss {sum(losses[-len(loader):]) / len(loader):.4f}")
    return losses


def main():
    loader = DataLoader(data(), batch_size=64, shuffle=True)
    teacher = pretrain_teacher(loader)
    losses = distill(make_student(teacher), teacher, loader)
    print("loss above 1e-6 in any step:", max(abs(v) for v in losses) > 1e-6)


if __name__ == "__main__":
    main()
