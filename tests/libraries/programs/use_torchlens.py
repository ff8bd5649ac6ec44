import torch
import torchlens

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
history = torchlens.log_forward_pass(model, torch.randn(2, 4), layers_to_save="all")
print(*history.layer_labels)
print(history["relu_1_2"].activation.sum().item())
