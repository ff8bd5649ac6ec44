import torch
from torchview import draw_graph

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
drawn = draw_graph(model, input_size=(2, 4))
print(drawn.num_nodes if hasattr(drawn, "num_nodes") else len(drawn.visual_graph.source.splitlines()), len(drawn.edge_list))
