"""torch's own tables of operators and modules with their samples: imported from here, quietly and without their slowest part."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal import common_utils
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import ModuleErrorEnum, ModuleInfo, module_db
    from torch.testing._internal.opinfo import core
    from torch.testing._internal.opinfo.core import ErrorInput, OpInfo, SampleInput

__all__ = ["ErrorInput", "ModuleErrorEnum", "ModuleInfo", "OpInfo", "SampleInput", "module_db", "op_db"]


def no_test_function() -> None:
    """torch looks for its unittest in `inspect.stack()`, for every list of samples. There is none, and the stack is deep."""


common_utils.extract_test_fn = core.extract_test_fn = no_test_function
