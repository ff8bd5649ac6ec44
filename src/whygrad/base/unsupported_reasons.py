"""The reasons why names of torch are missing here, and what to use instead. Read only when such a name is used."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import cache

SPARSE = ("whygrad's sparse tensors are sparse_coo_tensor, sparse_csr_tensor and sparse_csc_tensor, with their products, sums, "
          "softmax and conversions; for the rest use t.to_dense()")
STORAGE = ("a tensor's memory is a NumPy array: use t.numpy(), t.untyped_storage(), torch.from_numpy(np.memmap(...)) or "
           "np.from_dlpack(t)")
SCRIPT = "it belongs to the C++ side of torch and to TorchScript; whygrad runs programs as the Python they are"
KERNEL = "it is one of torch's kernels; use the function of torch.nn.functional or torch.linalg that is made of it"
OF_ITS_OWN = "it is for torch's own use"

# Reason -> patterns of the names it holds for, without "torch."; the first match counts.
_PATTERNS = {
    SPARSE: """
        *sparse* *coalesce* *nnz* *spmm *hsmm *dsmm *saddmm *spaddmm *dense_dim *ccol_* *crow_* *col_indices* *row_indices*
        indices_copy values_copy smm Tensor.smm Tensor.indices Tensor.values""",
    "whygrad has no quantized tensors; use floating-point ones": """
        *quant* *q_scale *q_zero* *q_per_* *qscheme *qparams* *qint* *quint* *int_repr *fbgemm* QInt* QUInt* per_channel_*
        per_tensor_* ao nn.qat nn.intrinsic""",
    "nested tensors can be made and padded here; to compute, pad (to_padded_tensor, nn.utils.rnn.pad_sequence) and mask": """
        nested nested.* *padded_tensor jagged""",
    "NumPy has no such dtype; use int8, float16, bfloat16 or complex64": """
        int[1-7] uint[1-7] bit bits* float4_* float8_* complex32""",
    "whygrad runs on the CPU through NumPy, and there is no other device": """
        *cudnn* *miopen* *mkldnn* cuda cuda.* *xpu* *mtia* *ipu* *xla* *hpu* *vulkan* *privateuse* *cupti* mps accelerator
        Stream Event AcceleratorError *record_stream *stream_mismatch *capture_stream *device_module DeviceObjType StreamObjType
        backends.* *validate_*_device *data_ptr numa numa.*""",
    "whygrad has no symbolic shapes: sizes are plain ints, and Python's own functions work on them": "Sym* sym_*",
    "torch.distributed stands on MPI here, for collectives, data parallelism and checkpoints; there is no such part": """
        distributed* nn.parallel* *is_distributed
        futures futures.* Future""",
    "use torch.autograd.grad with create_graph=True, in a loop over rows": """
        vmap func func.* autograd.functional* autograd.forward_ad* autograd.grad*check* autograd.NestedIOFunction""",
    "use Python's own profilers (cProfile, time.perf_counter)": """
        profiler* autograd.profiler* autograd.Profiler* autograd.kineto* autograd.DeviceType monitor* utils.benchmark*
        utils.bottleneck* *ThroughputBenchmark utils.throughput*""",
    STORAGE: "*Storage *StorageBase storage* *.storage* from_file *dlpack* *DLDeviceType Tensor.storage_type",
    SCRIPT: """
        jit jit.* fork wait classes ops cpp Script* *Type *TypeBuilder AliasDb Argument* Block CallStack Capsule Code
        CompilationUnit CompleteArgumentSpec Concrete* DeepCopyMemoTable *SerializationStorageContext ErrorReport Execution*
        FatalError *FileCheck FunctionSchema Gradient Graph* IODescriptor JITException LiteScript* LockingLogger LoggerBase
        NoopLogger Node OperatorInfo PyTorchFile* StaticModule Tag TracingState Use Value Benchmark* BufferDict ModuleDict
        ParameterDict AVG SUM *Dispatch* import_ir* parse_* unify_type_list merge_type* *classproperty *boolean_dispatch
        *BroadcastingList* *assert_int_or_pair DeserializationStorageContext""",
    "whygrad runs programs eagerly and has nothing to trace or export; write plain Python": """
        fx fx.* export export.* onnx onnx.* _dynamo* _inductor* library* package* while_loop compiler.* optim.swap_in* utils.weak
        *fx_traceback""",
    "whygrad has torch.autocast for the CPU, and torch.amp.GradScaler": "*autocast* amp.*",
    KERNEL: """
        native_* nn.functional.native_* batch_norm_* *.batch_norm_*
        frobenius_norm embedding_bag nn.functional.*grouped_mm nn.functional.scaled_mm
        nn.functional.ScalingType nn.functional.SwizzleType""",
    "get the file by other means and read it with torch.load": "hub hub.* utils.model_zoo*",
    "write the numbers with the package tensorboardX, or to a file": "utils.tensorboard*",
    "whygrad has the functions of torch.masked, and no tensors that carry a mask; pass mask=": "masked.* *[Mm]asked[Tt]ensor",
    "use nn.NLLLoss": "*.NLLLoss2d",
    "use nn.LocalResponseNorm": "*.CrossMapLRN2d",
    "use nn.Module": "*.Container",
    "no kernel here is chosen by memory format; leave the weights as they are": "nn.utils.convert_conv* nn.utils.memory_format",
    "use torch.func.functional_call": "nn.utils.stateless*",
    "there is one implementation of attention; torch.nn.functional.scaled_dot_product_attention runs it": "nn.attention.*",
    "use Dataset, IterableDataset and DataLoader": "utils.data.*",
    "it is for building torch itself, and extensions in C++": """
        utils.cmake* *cpp_backtrace utils.cpp_ext* utils.collect_env utils.backcompat utils.backend_reg* utils.generate_methods*
        utils.rename_* utils.file_baton utils.mobile* utils.bundled*""",
    "whygrad computes deterministically": "utils.deterministic*",
    "with a = MultivariateNormal(zeros, covariance).sample((df,)), a.mT @ a is a draw": "distributions.[Ww]ishart*",
    "torch.save and torch.load write and read torch's zip format; settings are in torch.utils.serialization.config":
        "serialization.*",
    "use multiprocessing of the standard library; tensors are pickled with their values": "multiprocessing.*",
    "ask torch.overrides": "*DisableTorchFunction *handle_torch_function *has_torch_function* autograd.is_tensor_like",
    "clone what is saved before it is changed in place": "*allow_mutation_on_saved_tensors *region_activation_memory_budget",
    "use torch.distributions and log_prob": "Tensor.reinforce",
    "use t.detach().clone()": "detach_copy",
    "use resize_ or reshape": "Tensor.resize Tensor.resize_as",
    OF_ITS_OWN: """
        thread_safe_generator random.thread_safe_generator init_num_threads prepare_multiprocessing* get_file_path
        compiled_with_cxx11_abi has_lapack has_mkl has_openmp has_spectral USE_* PRIVATE_OPS types windows torch
        *.torch *TYPE_CHECKING *_notes *.common* *.factory_* *.multi_dim_common *.set_module *.hooks cpu
        legacy_contiguous_format slice_inverse *_MODES nn.common_types *linear_cross_entropy_options *LinearCrossEntropyOptions
        autograd.is_view_replay_enabled Tensor.slice_inverse Tensor.module_load Tensor.storage_type
        nn.*.Tensor *.Tensor optim.* autograd.graph.Variable""",
}
@cache
def _compiled() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile("|".join(map(translate, patterns.split()))), reason) for reason, patterns in _PATTERNS.items()]


def why_missing(name: str) -> str:
    """The reason why an attribute of torch such as "nn.SyncBatchNorm" is missing; "" if none is known."""
    return next((reason for pattern, reason in _compiled() if pattern.match(name)), "")


def with_reason(message: str, name: str) -> str:
    """The message, followed by the reason if one is known."""
    reason = why_missing(name.removeprefix("torch."))
    return f"{message}: {reason}" if reason else message
