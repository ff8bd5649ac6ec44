from accelerate import init_empty_weights
from transformers import BertConfig, BertModel

with init_empty_weights():
    model = BertModel(BertConfig(vocab_size=60, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64))
print(model.embeddings.word_embeddings.weight.is_meta, sum(p.numel() for p in model.parameters()))
model = model.to_empty(device="cpu")
print(model.embeddings.word_embeddings.weight.device, *model.embeddings.word_embeddings.weight.shape)
