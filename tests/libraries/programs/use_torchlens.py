import torch
import torchlens

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
trace = torchlens.trace(model, torch.randn(2, 4))
print(*trace.layer_labels)
