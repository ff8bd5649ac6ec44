import warnings

import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
torch.manual_seed(0)
x = torch.randn(32, 4)
model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=8)
model, optimizer, loader = PrivacyEngine().make_private(module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0,
                                                        max_grad_norm=1.0, poisson_sampling=False)
for a, b in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(a), b)
    loss.backward()
    print(loss.item(), sum(p.grad_sample.norm().item() for p in model.parameters()))
    optimizer.step()
