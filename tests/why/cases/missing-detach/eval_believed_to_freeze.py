# missing-detach, not-in-optimizer | unwanted | eval/detach/no_grad
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
perceptual = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh()).eval()
gen = nn.Conv2d(1, 1, 3, padding=1)
opt = torch.optim.Adam(gen.parameters(), lr=1e-3)
img, ref = torch.rand(1, 1, 6, 6), torch.rand(1, 1, 6, 6)
loss = (perceptual(gen(img)) - perceptual(ref)).pow(2).mean()  #C
opt.zero_grad()
loss.backward()
opt.step()
g = perceptual[0].weight.grad  #R
print("evidence:", g is not None)
