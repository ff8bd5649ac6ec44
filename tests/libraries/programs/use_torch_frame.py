import pandas as pd, numpy as np, torch, torch_frame
from torch_frame import stype
from torch_frame.data import Dataset, DataLoader
from torch_frame.nn import FTTransformer, EmbeddingEncoder, LinearEncoder, ResNet

torch.manual_seed(0)
rng = np.random.default_rng(0)
df = pd.DataFrame({"a": rng.normal(size=48), "b": rng.integers(0, 4, 48), "y": rng.integers(0, 2, 48)})
ds = Dataset(df, {"a": stype.numerical, "b": stype.categorical, "y": stype.categorical}, target_col="y")
ds.materialize()
model = FTTransformer(
    channels=8,
    out_channels=2,
    num_layers=2,
    col_stats=ds.col_stats,
    col_names_dict=ds.tensor_frame.col_names_dict,
    stype_encoder_dict={stype.categorical: EmbeddingEncoder(), stype.numerical: LinearEncoder()},
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for tf in DataLoader(ds.tensor_frame, batch_size=16):
    loss = torch.nn.functional.cross_entropy(model(tf), tf.y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
