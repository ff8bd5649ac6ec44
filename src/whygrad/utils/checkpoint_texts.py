"""The messages of torch.utils.checkpoint."""

_DEFAULT = ("use_reentrant=False is recommended, but if you need to preserve the current default behavior, you can pass "
            "use_reentrant=True. Refer to docs for more details on the differences between the two variants.")

CHOOSE = ("torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
          f"checkpoint without use_reentrant will raise an exception. {_DEFAULT}")

CHOOSE_SEQUENTIAL = ("torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In "
                     f"version 2.9 we will raise an exception if use_reentrant is not passed. {_DEFAULT}")

SUPPRESSED = ("torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the "
              "checkpointed forward. This is not supported because checkpoint cannot return a value for a failed forward.")

ONLY_BACKWARD = ("When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter "
                 "to .backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without "
                 "passing the `inputs` argument.")

DIFFERENT_NUMBER = ("torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                    "recomputation.\nNumber of tensors saved during forward: {before}\n"
                    "Number of tensors saved during recomputation: {now}.\n")

DIFFERENT_METADATA = ("torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during "
                      "the forward pass.\n{tensors}.\n")
AT_POSITION = "tensor at position {i}:\nsaved metadata: {before}\nrecomputed metadata: {now}\n"

TOO_MANY = ("torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass.\n")

OPENED_TWICE = ("torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. {extra}If you "
                "are calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with "
                "details on your use case.")
OVERLAP = ("Performing two backward calls that overlap (i.e. require the same saved activation in order to compute gradients) is "
           "not allowed while under the torch.utils.checkpoint.GraphExecGroup context. ")

TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint\u2011debug mode globally.

If this error occurs under torch.compile with automatic_dynamic_shapes enabled,
it may be because the recomputation selected a different compiled graph than the
forward pass (e.g., a dynamic graph instead of the original static graph).
To fix this, either:
  - Use torch._dynamo.mark_dynamic() to explicitly mark varying dimensions as
    dynamic upfront, avoiding the static-to-dynamic transition.
  - Call torch._C._dynamo.eval_frame._set_lru_cache(False) to disable LRU cache
    reordering, which can change which graph is checked first between forward
    and recompute.
See https://github.com/pytorch/pytorch/issues/166926 for more details and
workaround examples.
"""

_WAVE, _LINE = "+" + "~" * 78 + "+", "+" + "-" * 78 + "+"

LOGS = f""" An error happened while unpacking tensors; dumping logs of latest computation
because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.
Scroll all the way down for guidance on how to navigate these logs.

{_WAVE}
|        1. Stack traces of the operators that ran in the original forward     |
{_LINE}

{{forward_traces}}
{_WAVE}
|        2. Stack traces of the operators that ran during recomputation        |
{_LINE}

{{recompute_traces}}
{_WAVE}
|       3. Log of operators in the original forward and recomputation          |
{_LINE}
(Scroll up to correlate stack traces with each operation listed below. This
 helps identify their source in the code.)

IMPORTANT: Differences in "detach" calls between the original forward and the
           recomputation are expected. They are introduced by the checkpointing
           mechanism and can be ignored.

Operations executed during the original forward:

{{forward_ops}}

Operations executed during recomputation:

{{recompute_ops}}

{_LINE}
 ERROR: Detected non-determinism while running activation checkpointing

 You are seeing this error because you passed `debug=True` to checkpoint and
 tensors to be saved during the original forward and differ between those saved
 during recomputation. This can happen if different operators were ran in the
 original forward and in the recomputation.

 To identify where the mismatch may be coming from, you can do the following:

 1) Compare the operators ran during original forward and recomputation to
    see where they differ. These operators are printed above in the order they
    were executed.

 2) Review the stack trace for each operator to locate its invocation source.
    Each operator's stack trace is printed in their execution order.

 Note that the logs can be quite long. Here's how they are structured:
 (Tip: you can Ctrl-f for these headers)

 1. Stack traces of the operators that ran in the original forward
 2. Stack traces of the operators that ran during recomputation
 3. Log of operators in the original forward and recomputation
 4. Error message                                             <--- You are here
{'-' * 80}
"""
