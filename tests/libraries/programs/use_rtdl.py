import torch
from rtdl_revisiting_models import MLP, FTTransformer, ResNet
from rtdl_num_embeddings import PeriodicEmbeddings, PiecewiseLinearEmbeddings, compute_bins
import delu

delu.random.seed(0)
x, c = torch.randn(16, 3), torch.randint(0, 4, (16, 2))
model = FTTransformer(n_cont_features=3, cat_cardinalities=[4, 4], d_out=1, **FTTransformer.get_default_kwargs(1))

optimizer = model.make_default_optimizer()
for _ in range(3):
    loss = torch.nn.functional.mse_loss(model(x, c)[:, 0], x[:, 0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
print(
    ResNet(d_in=3, d_out=2, n_blocks=2, d_block=8, d_hidden=None, d_hidden_multiplier=2.0, dropout1=0.0, dropout2=0.0)(x)
    .sum()
    .item()
)
emb = PeriodicEmbeddings(3, 8, lite=False)
print(emb(x).sum().item(), PiecewiseLinearEmbeddings(compute_bins(x, n_bins=4), 8, activation=True, version="B")(x).sum().item())
for part in delu.iter_batches({"x": x, "c": c}, 5, shuffle=True):
    print(part["x"].sum().item())
