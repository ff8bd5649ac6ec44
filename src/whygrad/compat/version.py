"""torch.version: the version of torch whose behaviour whygrad follows."""

from whygrad.compat.torch_version import TorchVersion

# Also the `torch.__version__` that programs see while whygrad is imported as torch.
TORCH_VERSION = "2.13.0"
__version__ = TorchVersion(f"{TORCH_VERSION}+whygrad")
debug = False
cuda = None
git_version = "unknown"
hip = None
rocm = None
xpu = None
