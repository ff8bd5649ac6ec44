import torch
from torchkge.models import TransEModel, DistMultModel, ComplExModel, RESCALModel
from torchkge.utils import MarginLoss

torch.manual_seed(0)
h, t, r = torch.randint(0, 10, (16,)), torch.randint(0, 10, (16,)), torch.randint(0, 3, (16,))
nh, nt = torch.randint(0, 10, (16,)), torch.randint(0, 10, (16,))
for model in (
    TransEModel(8, 10, 3, dissimilarity_type="L2"),
    DistMultModel(8, 10, 3),
    ComplExModel(8, 10, 3),
    RESCALModel(8, 10, 3),
):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    criterion = MarginLoss(0.5)
    for _ in range(3):
        optimizer.zero_grad()
        positive, negative = model(h, t, r, nh, nt)
        loss = criterion(positive, negative)
        loss.backward()
        optimizer.step()
    model.normalize_parameters()
    print(type(model).__name__, loss.item())
