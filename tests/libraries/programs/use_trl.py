import torch
from trl.trainer.utils import pad, selective_log_softmax

torch.manual_seed(0)
logits = torch.randn(2, 5, 7, requires_grad=True)
told = selective_log_softmax(logits, torch.randint(0, 7, (2, 5)))
told.sum().backward()
print(told.sum().item(), logits.grad.norm().item(), *pad([torch.ones(2), torch.ones(4)], padding_value=0).shape)
