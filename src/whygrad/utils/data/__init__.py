"""torch.utils.data: datasets, samplers and the DataLoader."""

from whygrad.base.unsupported import absent_from
from whygrad.utils.data import dataset, sampler
from whygrad.utils.data.collate import default_collate, default_convert
from whygrad.utils.data.dataloader import DataLoader
from whygrad.utils.data.datapipes import IterDataPipe, MapDataPipe
from whygrad.utils.data.dataset import *  # noqa: F403
from whygrad.utils.data.distributed import DistributedSampler
from whygrad.utils.data.sampler import *  # noqa: F403
from whygrad.utils.data.worker import get_worker_info

__getattr__ = absent_from("torch.utils.data")

__all__ = ["DataLoader", "DistributedSampler", "default_collate", "default_convert",
           "get_worker_info", *dataset.__all__, *sampler.__all__]
