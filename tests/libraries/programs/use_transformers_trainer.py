import tempfile

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, PrinterCallback, Trainer, TrainingArguments


class Sentences(Dataset):
    def __init__(self):
        generator = torch.Generator().manual_seed(1)
        self.ids = torch.randint(0, 40, (64, 8), generator=generator)

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "attention_mask": torch.ones(8, dtype=torch.long), "labels": self.ids[i, 0] % 2}


torch.manual_seed(0)
model = BertForSequenceClassification(BertConfig(vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                                                 intermediate_size=32))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(output_dir=folder, max_steps=20, per_device_train_batch_size=8, learning_rate=1e-3,
                                  logging_steps=5, save_steps=10, report_to=[], use_cpu=True, disable_tqdm=True, seed=3)
    trainer = Trainer(model=model, args=arguments, train_dataset=Sentences(), eval_dataset=Sentences())
    trainer.remove_callback(PrinterCallback)  # prints seconds
    result = trainer.train()
    print(result.global_step, result.training_loss)
    print(trainer.evaluate()["eval_loss"])
    print(*[entry["loss"] for entry in trainer.state.log_history if "loss" in entry])
    again = BertForSequenceClassification.from_pretrained(f"{folder}/checkpoint-20")
    print(sum(p.sum().item() for p in again.parameters()))
