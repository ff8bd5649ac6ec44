import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, global_mean_pool

torch.manual_seed(0)
edges = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
graphs = [Data(x=torch.randn(4, 5), edge_index=edges, y=torch.tensor([i % 2])) for i in range(6)]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.out = GCNConv(5, 8), GATConv(8, 4, heads=2), torch.nn.Linear(8, 2)

    def forward(self, data):
        x = self.first(data.x, data.edge_index).relu()
        return self.out(global_mean_pool(self.second(x, data.edge_index), data.batch))


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for batch in DataLoader(graphs, batch_size=3):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(batch), batch.y)
    loss.backward()
    optimizer.step()
    print(loss.item())
