"""Connectionist temporal classification: the likelihood of a label sequence, given log-probabilities for each step."""

from whygrad.ops.arithmetic import underivable
from whygrad.ops.table import NoGrad, op

LABELS = NoGrad("labels are integers")


# `x` are log-probabilities (steps, batch, classes), `labels` is (batch, longest label sequence). As in torch, the
# gradient is correct only if `x` is a result of log_softmax, because it already contains a term of that derivative.
@op(batch="looped", outputs=("losses", NoGrad("likelihoods of beginnings are kept for the backward pass")),
    x=lambda xp, g, x, labels, out0, out1, steps, lengths, blank, zero_infinity:
    xp.ctc_loss_backward(g, x, labels, out0, out1, steps=steps, lengths=lengths, blank=blank,
                         zero_infinity=zero_infinity),
    labels=LABELS)
def ctc_loss(xp, x, labels, *, steps, lengths, blank, zero_infinity):
    """(negative log-likelihood of each sample, log_alpha: log-likelihoods of all path prefixes after each step)."""


@op(batch="looped", node="NotImplemented",
    grad=underivable("_ctc_loss_backward"), x=underivable("_ctc_loss_backward"), labels=LABELS,
    losses=underivable("_ctc_loss_backward"), beginnings=underivable("_ctc_loss_backward"))
def ctc_loss_backward(xp, grad, x, labels, losses, beginnings, *, steps, lengths, blank, zero_infinity): ...
