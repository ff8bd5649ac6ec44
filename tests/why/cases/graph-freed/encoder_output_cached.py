# graph-freed | error | freed/second time
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Sequential(nn.Linear(3, 5), nn.Tanh()), nn.Linear(5, 3)
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
x = torch.randn(10, 3)
memory = encoder(x)  #C


def epoch():
    recon = decoder(memory)
    loss = (recon - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()  #R
    opt.step()


epoch()
err = ""
try:
    epoch()
except RuntimeError as e:
    err = str(e)
print("evidence:", "second time" in err)
