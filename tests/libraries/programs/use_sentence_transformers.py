import torch
from sentence_transformers import util
from sentence_transformers.models import Dense, Pooling

torch.manual_seed(0)
pool = Pooling(16, pooling_mode="mean")
dense = Dense(16, 8)
features = {"token_embeddings": torch.randn(4, 7, 16), "attention_mask": torch.ones(4, 7)}
out = dense(pool(features))["sentence_embedding"]
print(out.norm().item(), util.cos_sim(out, out).sum().item(), util.semantic_search(out, out, top_k=2)[0][1]["corpus_id"])
