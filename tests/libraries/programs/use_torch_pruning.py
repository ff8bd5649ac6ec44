import torch
import torch_pruning as tp
from torchvision.models import resnet18

torch.manual_seed(0)
model, x = resnet18(num_classes=10).eval(), torch.randn(1, 3, 32, 32)
graph = tp.DependencyGraph().build_dependency(model, example_inputs=x)
group = graph.get_pruning_group(model.conv1, tp.prune_conv_out_channels, idxs=[2, 6, 9])
print(graph.check_pruning_group(group), len(group))
group.prune()
print(model.conv1, model(x).sum().item())
pruner = tp.pruner.MagnitudePruner(model, x, importance=tp.importance.MagnitudeImportance(p=2), pruning_ratio=0.5,
                                   ignored_layers=[model.fc])
pruner.step()
print(sum(p.numel() for p in model.parameters()), model(x).sum().item())
