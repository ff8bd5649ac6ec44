"""torch.utils.data: datasets, samplers and the DataLoader."""

from whygrad.compat.absent import absent_from
from whygrad.utils.data.collate import default_collate, default_convert
from whygrad.utils.data.dataloader import DataLoader
from whygrad.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from whygrad.utils.data.distributed import DistributedSampler
from whygrad.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from whygrad.utils.data.worker import get_worker_info

__getattr__ = absent_from("torch.utils.data")

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "default_collate", "default_convert", "get_worker_info", "random_split",
]
