# ok
# evidence: True True
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
teacher, student = nn.Linear(5, 3), nn.Linear(5, 3)
teacher.eval()
opt = torch.optim.SGD(student.parameters(), lr=0.1)
x, y = torch.randn(9, 5), torch.randint(0, 3, (9,))
for _ in range(2):
    with torch.no_grad():
        t = teacher(x)
    s = student(x)
    loss = F.cross_entropy(s, y) + F.kl_div(F.log_softmax(s / 2, 1), F.softmax(t / 2, 1), reduction="batchmean") * 4
    opt.zero_grad()
    loss.backward()
    opt.step()
print("evidence:", student.weight.grad is not None, teacher.weight.grad is None)
