import torch
from torchmetrics import Accuracy, MeanSquaredError, MetricCollection
from torchmetrics.classification import BinaryAUROC, MulticlassF1Score
from torchmetrics.functional import pairwise_cosine_similarity

torch.manual_seed(0)
scores, target = torch.randn(20, 3).softmax(1), torch.randint(0, 3, (20,))
metrics = MetricCollection({"accuracy": Accuracy("multiclass", num_classes=3), "f1": MulticlassF1Score(num_classes=3)})
for i in range(0, 20, 5):
    metrics.update(scores[i:i + 5], target[i:i + 5])
print(*[value.item() for value in metrics.compute().values()])
print(BinaryAUROC()(scores[:, 0], (target == 0).long()).item(), MeanSquaredError()(scores[:, 0], scores[:, 1]).item())
print(pairwise_cosine_similarity(scores[:4]).sum().item())
