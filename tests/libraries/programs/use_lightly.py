import torch
from lightly.loss import BarlowTwinsLoss, NTXentLoss, VICRegLoss
from lightly.models.modules import SimCLRProjectionHead
from lightly.models.utils import deactivate_requires_grad, update_momentum

torch.manual_seed(0)
backbone, head = torch.nn.Linear(8, 16), SimCLRProjectionHead(16, 16, 8)
teacher = torch.nn.Linear(8, 16)
deactivate_requires_grad(teacher)
optimizer = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.1)
x = torch.randn(12, 8)
for criterion in (NTXentLoss(temperature=0.5), NTXentLoss(memory_bank_size=(20, 8)), BarlowTwinsLoss(), VICRegLoss()):
    a, b = head(backbone(x + 0.1 * torch.randn(12, 8))), head(backbone(x + 0.1 * torch.randn(12, 8)))
    loss = criterion(a, b)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    update_momentum(backbone, teacher, m=0.9)
    print(type(criterion).__name__, loss.item(), teacher.weight.sum().item())
