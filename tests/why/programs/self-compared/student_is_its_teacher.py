# self-compared | equal
# evidence: done
"""Student is its teacher."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def main():
    torch.manual_seed(0)
    x = torch.randn(400, 10)
    y = (x @ torch.randn(10, 5)).argmax(1)
    teacher = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 5))
    student = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 5))
    opt_t = torch.optim.Adam(teacher.parameters(), lr=1e-2)
    for i in range(40):
        idx = torch.randint(0, 400, (50,))
        opt_t.zero_grad()
        F.cross_entropy(teacher(x[idx]), y[idx]).backward()
        opt_t.step()
    opt = torch.optim.Adam(student.parameters(), lr=1e-2)
    temp = 3.0
    teacher.eval()
    for i in range(40):
        idx = torch.randint(0, 400, (50,))
        out = student(x[idx])
        with torch.no_grad():
            soft = student(x[idx])  #C
        kd = F.kl_div(F.log_softmax(out / temp, 1), F.softmax(soft / temp, 1), reduction="batchmean") * temp ** 2
        loss = 0.5 * kd + 0.5 * F.cross_entropy(out, y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


main()
print("evidence: done")
