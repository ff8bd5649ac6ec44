# missing-detach | unwanted | detach/no_grad
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
student = nn.Linear(4, 3)
teacher = nn.Linear(4, 3)
teacher.load_state_dict(student.state_dict())
opt = torch.optim.SGD(student.parameters(), lr=0.1)
for _ in range(2):
    x = torch.randn(6, 4)
    s = student(x + 0.1 * torch.randn_like(x))
    t = teacher(x)  #C
    loss = nn.functional.mse_loss(s, t)  #C
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for pt, ps in zip(teacher.parameters(), student.parameters()):
            pt.mul_(0.99).add_(ps, alpha=0.01)
g = teacher.weight.grad  #R
print("evidence:", g is not None)
