"""torch.version: the version of torch whose behaviour whygrad follows."""

# Also the `torch.__version__` that programs see while whygrad is imported as torch.
TORCH_VERSION = "2.13.0"
__version__ = f"{TORCH_VERSION}+whygrad"
debug = False
cuda = None
git_version = "unknown"
hip = None
rocm = None
xpu = None
