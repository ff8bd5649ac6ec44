# train-in-validation | dropout
# evidence: teacher in training mode: True
import torch
from torch import nn
import torch.nn.functional as F


def network(width):
    return nn.Sequential(nn.Linear(5, width), nn.ReLU(), nn.Dropout(0.3), nn.Linear(width, 3))


def train(model, loss_of, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        x = torch.randn(24, 5)
        loss = loss_of(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def soft_targets(teacher, x):
    with torch.no_grad():
        return F.softmax(teacher(x) / 2, dim=1)  #C


def main():
    torch.manual_seed(0)
    teacher, student = network(32), network(8)
    train(teacher, lambda x: F.cross_entropy(teacher(x), x[:, :3].argmax(1)), 15)
    train(student, lambda x: F.kl_div(F.log_softmax(student(x) / 2, 1), soft_targets(teacher, x), reduction="batchmean"), 15)
    print(f"teacher in training mode: {teacher.training}")


main()
