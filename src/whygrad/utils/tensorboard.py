"""torch.utils.tensorboard: writes event files with the package tensorboard, which has to be installed."""

from __future__ import annotations

import io
import math
import os
import socket
import time
from typing import Any, Self

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.hparams import api_pb2, metadata
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from whygrad.core.tensor import Tensor

__all__ = ["FileWriter", "SummaryWriter"]

# Limits of the histogram's bins, with the factor 1.1 between them, as tensorboard's own writers have them.
_POSITIVE = [1e-12 * 1.1 ** i for i in range(int(math.log(1e32) / math.log(1.1)) + 1)]
DEFAULT_BINS = [-limit for limit in reversed(_POSITIVE)] + [0.0] + _POSITIVE


def _array(values: Any) -> np.ndarray:
    if isinstance(values, Tensor):
        values = values.detach().numpy()  # type: ignore[attr-defined]
    return np.asarray(values)


def _scalar(value: Any) -> float:
    array = _array(value)
    if array.size != 1:
        raise AssertionError("scalar should be 0D")
    return float(array.reshape(()))


def _histogram(values: Any, bins: Any, max_bins: int | None) -> HistogramProto:
    array = _array(values).astype(np.float64).reshape(-1)
    if array.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(array, bins=DEFAULT_BINS if bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        step = -(-len(counts) // max_bins)
        counts = np.add.reduceat(counts, range(0, len(counts), step))
        limits = np.append(limits[:-1][::step], limits[-1])
    filled = np.nonzero(counts)[0]
    first, last = max(int(filled[0]) - 1, 0), int(filled[-1]) + 1
    # A bin's limit is its right end; one empty bin precedes the first filled one.
    kept = [0.0, *counts[:last]] if filled[0] == 0 else counts[first:last]
    ends = limits[:last + 1] if filled[0] == 0 else limits[first + 1:last + 1]
    return HistogramProto(min=array.min(), max=array.max(), num=len(array), sum=array.sum(), sum_squares=array.dot(array),
                          bucket_limit=list(ends), bucket=list(kept))


def _in_order_hwc(image: np.ndarray, dataformats: str) -> np.ndarray:
    """An image, or a batch of them side by side, with the axes height, width, channel."""
    order = dataformats.upper()
    if len(order) != image.ndim:
        raise AssertionError(f"size of input tensor and input format are different.         tensor shape: {image.shape}, "
                             f"input_format: {dataformats}")
    if order == "HW":
        return np.repeat(image[:, :, None], 3, axis=2)
    if len(order) == 4:
        batch = image.transpose([order.index(axis) for axis in "NHWC"])
        columns = min(len(batch), 8)
        rows = -(-len(batch) // columns)
        padded = np.concatenate([batch, np.zeros((rows * columns - len(batch), *batch.shape[1:]), batch.dtype)])
        grid = padded.reshape(rows, columns, *batch.shape[1:]).swapaxes(1, 2)
        image = grid.reshape(rows * batch.shape[1], columns * batch.shape[2], -1)
    else:
        image = image.transpose([order.index(axis) for axis in "HWC"])
    return np.repeat(image, 3, axis=2) if image.shape[2] == 1 else image


def _image(tensor: Any, dataformats: str) -> Summary.Image:
    from PIL import Image

    array = _array(tensor)
    scale = 1 if array.dtype == np.uint8 else 255
    pixels = (_in_order_hwc(array, dataformats).astype(np.float32) * scale).clip(0, 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="PNG")
    height, width, channels = pixels.shape
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue())


def _kind(hparam: str | float) -> tuple[int, str]:
    """The type of a hyper-parameter, and the field of a protobuf Value that holds it."""
    return (api_pb2.DATA_TYPE_STRING, "string_value") if isinstance(hparam, str) else (api_pb2.DATA_TYPE_FLOAT64, "number_value")


def _hparams_summary(tag: str, data: HParamsPluginData) -> Summary:
    plugin = SummaryMetadata.PluginData(plugin_name=metadata.PLUGIN_NAME, content=data.SerializeToString())
    return Summary(value=[Summary.Value(tag=tag, metadata=SummaryMetadata(plugin_data=plugin))])


class FileWriter:
    """Writes summaries to an event file of a folder."""

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = "") -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        return self.event_writer.get_logdir()  # type: ignore[no-any-return]

    def add_event(self, event: Event, step: Any = None, walltime: float | None = None) -> None:
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Summary, global_step: Any = None, walltime: float | None = None) -> None:
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        self.event_writer.flush()

    def close(self) -> None:
        self.event_writer.close()


class SummaryWriter:
    """Writes scalars, histograms, images, figures, texts and hyper-parameters for TensorBoard."""

    def __init__(self, log_dir: Any = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10,
                 flush_secs: float = 120, filename_suffix: str = "") -> None:
        if not log_dir:
            stamp = time.strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{stamp}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue, self.flush_secs, self.filename_suffix = max_queue, flush_secs, filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = self._make_writer(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                self.file_writer.add_event(Event(step=self.purge_step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=self.purge_step, session_log=SessionLog(status=SessionLog.START)))
                self.purge_step = None
        return self.file_writer

    def _make_writer(self, folder: Any) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def get_logdir(self) -> str:
        return str(self.log_dir)

    def _add(self, value: Summary.Value, global_step: Any, walltime: float | None) -> None:
        self._get_file_writer().add_summary(Summary(value=[value]), global_step, walltime)

    def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None,
                   new_style: bool = False, double_precision: bool = False) -> None:
        self._add(Summary.Value(tag=tag, simple_value=_scalar(scalar_value)), global_step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None,
                    walltime: float | None = None) -> None:
        """Each scalar to a folder of its own, so that TensorBoard draws them together."""
        main = self._get_file_writer()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(main.get_logdir(), f"{main_tag.replace('/', '_')}_{tag}")
            if folder not in self.all_writers:
                self.all_writers[folder] = self._make_writer(folder)
            summary = Summary(value=[Summary.Value(tag=main_tag, simple_value=_scalar(value))])
            self.all_writers[folder].add_summary(summary, global_step, walltime)

    def add_histogram(self, tag: str, values: Any, global_step: Any = None, bins: Any = "tensorflow",
                      walltime: float | None = None, max_bins: int | None = None) -> None:
        self._add(Summary.Value(tag=tag, histo=_histogram(values, bins, max_bins)), global_step, walltime)

    def add_image(self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None,
                  dataformats: str = "CHW") -> None:
        self._add(Summary.Value(tag=tag, image=_image(img_tensor, dataformats)), global_step, walltime)

    def add_images(self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None,
                   dataformats: str = "NCHW") -> None:
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(self, tag: str, figure: Any, global_step: Any = None, close: bool = True,
                   walltime: float | None = None) -> None:
        """A matplotlib figure, or a list of them."""
        figures = figure if isinstance(figure, list) else [figure]
        drawn = []
        for each in figures:
            each.canvas.draw()
            drawn.append(np.asarray(each.canvas.buffer_rgba())[:, :, :3])
            if close:
                each.clear()
        if isinstance(figure, list):
            self.add_images(tag, np.stack(drawn), global_step, walltime, "NHWC")
        else:
            self.add_image(tag, drawn[0], global_step, walltime, "HWC")

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        about = SummaryMetadata.PluginData(plugin_name="text", content=TextPluginData(version=0).SerializeToString())
        text = TensorProto(dtype="DT_STRING", string_val=[text_string.encode("utf_8")],
                           tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]))
        self._add(Summary.Value(tag=f"{tag}/text_summary", metadata=SummaryMetadata(plugin_data=about), tensor=text),
                  global_step, walltime)

    def add_hparams(self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any], hparam_domain_discrete: Any = None,
                    run_name: str | None = None, global_step: Any = None) -> None:
        """The hyper-parameters of a run and the metrics that came of them, in a folder of their own."""
        known = {name: value if isinstance(value, str) else _scalar(value) for name, value in hparam_dict.items()}
        folder = os.path.join(str(self.log_dir), run_name or str(time.time()))
        writer = self._make_writer(folder)
        metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=tag)) for tag in metric_dict]
        infos = [api_pb2.HParamInfo(name=name, type=_kind(value)[0]) for name, value in known.items()]
        for info in infos:
            info.domain_discrete.extend((hparam_domain_discrete or {}).get(info.name, ()))
        started = SessionStartInfo()
        for name, value in known.items():
            setattr(started.hparams[name], _kind(value)[1], value)
        for tag, part in ((metadata.EXPERIMENT_TAG, {"experiment": api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)}),
                          (metadata.SESSION_START_INFO_TAG, {"session_start_info": started}),
                          (metadata.SESSION_END_INFO_TAG, {"session_end_info": SessionEndInfo(status=api_pb2.STATUS_SUCCESS)})):
            writer.add_summary(_hparams_summary(tag, HParamsPluginData(version=metadata.PLUGIN_DATA_VERSION, **part)))
        for tag, value in metric_dict.items():
            writer.add_summary(Summary(value=[Summary.Value(tag=tag, simple_value=_scalar(value))]), global_step)
        writer.close()

    def add_graph(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("SummaryWriter.add_graph is not available in whygrad: it draws a TorchScript trace")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("add_"):
            raise NotImplementedError(f"SummaryWriter.{name} is not available in whygrad")
        raise AttributeError(f"'SummaryWriter' object has no attribute {name!r}")

    def flush(self) -> None:
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
