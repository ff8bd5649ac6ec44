# eval-before-train | train
# evidence: True
# A spectral norm is measured before its first forward in training mode, which computes what it divides by.
import torch
import torch.nn as nn
from torch.nn.utils import spectral_norm

torch.manual_seed(0)
critic = nn.Sequential(spectral_norm(nn.Linear(8, 16)), nn.LeakyReLU(0.2), spectral_norm(nn.Linear(16, 1)))
x = torch.randn(32, 8)
critic.eval()
with torch.no_grad():
    before = critic(x).std()  #C
critic.train()
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
for step in range(10):
    optimizer.zero_grad()
    loss = critic(torch.randn(32, 8)).mean() - critic(torch.randn(32, 8) + 1).mean()
    loss.backward()
    optimizer.step()
critic.eval()
with torch.no_grad():
    after = critic(x).std()
print("evidence:", bool(before > 1.5 * after))
