import torch
from pytorch_metric_learning import distances, losses, miners

torch.manual_seed(0)
x = torch.randn(12, 6, requires_grad=True)
labels = torch.arange(12) % 3
pairs = miners.MultiSimilarityMiner()(x, labels)
for loss in (losses.TripletMarginLoss(), losses.NTXentLoss(), losses.ContrastiveLoss(distance=distances.CosineSimilarity(), pos_margin=1, neg_margin=0)):
    x.grad = None
    value = loss(x, labels, pairs)
    value.backward()
    print(value.item(), x.grad.norm().item())
