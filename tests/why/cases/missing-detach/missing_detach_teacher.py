# missing-detach | unwanted | detach/no_grad, teacher/constant/target
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
teacher.eval()
opt = torch.optim.SGD(student.parameters(), lr=0.1)
x = torch.randn(6, 4)
soft = torch.softmax(teacher(x), dim=1)  #C
loss = nn.functional.kl_div(torch.log_softmax(student(x), dim=1), soft, reduction="batchmean")  #C
opt.zero_grad()
loss.backward()
opt.step()
g = teacher.weight.grad  #R
print("evidence:", g is not None)
