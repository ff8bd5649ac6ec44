# missing-detach | unwanted | detach/no_grad
# evidence: True
import copy
import torch
from torch import nn

torch.manual_seed(0)


class MeanTeacher:
    def __init__(self, student):
        self.student = student
        self.teacher = copy.deepcopy(student)

    def loss(self, x):
        noisy = x + 0.1 * torch.randn_like(x)
        return (self.student(x) - self.teacher(noisy)).pow(2).mean()  #C


mt = MeanTeacher(nn.Linear(4, 2))
opt = torch.optim.SGD(mt.student.parameters(), lr=0.1)
loss = mt.loss(torch.randn(8, 4))
opt.zero_grad()
loss.backward()
opt.step()
g = mt.teacher.weight.grad  #R
print("evidence:", g is not None)
