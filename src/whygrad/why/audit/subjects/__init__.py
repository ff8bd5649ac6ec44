"""The subjects of the audit, in the order of the check-list."""

from __future__ import annotations

from whygrad.why.audit.subject import Subject
from whygrad.why.audit.subjects.aliases import Aliases
from whygrad.why.audit.subjects.attention import Attention
from whygrad.why.audit.subjects.autocasting import Autocasting
from whygrad.why.audit.subjects.batches import Batches
from whygrad.why.audit.subjects.choices import Choices
from whygrad.why.audit.subjects.clipping import Clipping
from whygrad.why.audit.subjects.constants import Constants
from whygrad.why.audit.subjects.coverage import Coverage
from whygrad.why.audit.subjects.curvature import Curvature
from whygrad.why.audit.subjects.decay import Decay
from whygrad.why.audit.subjects.dependence import Dependence
from whygrad.why.audit.subjects.detaching import Detaching
from whygrad.why.audit.subjects.distributed import Distributed
from whygrad.why.audit.subjects.freezing import Freezing
from whygrad.why.audit.subjects.functions import Functions
from whygrad.why.audit.subjects.gradient_scale import GradientScale
from whygrad.why.audit.subjects.indexing import Indexing
from whygrad.why.audit.subjects.initialization import Initialization
from whygrad.why.audit.subjects.inputs import Inputs
from whygrad.why.audit.subjects.layers import Layers
from whygrad.why.audit.subjects.layout import Layout
from whygrad.why.audit.subjects.loading import Loading
from whygrad.why.audit.subjects.loop import Loop
from whygrad.why.audit.subjects.loss_inputs import LossInputs
from whygrad.why.audit.subjects.memory import Memory
from whygrad.why.audit.subjects.modes import Modes
from whygrad.why.audit.subjects.movement import Movement
from whygrad.why.audit.subjects.numbers import Numbers
from whygrad.why.audit.subjects.optimizers import Optimizers
from whygrad.why.audit.subjects.padding import Padding
from whygrad.why.audit.subjects.pairing import Pairing
from whygrad.why.audit.subjects.parameters import Parameters
from whygrad.why.audit.subjects.rates import Rates
from whygrad.why.audit.subjects.replicas import Replicas
from whygrad.why.audit.subjects.samples import Samples
from whygrad.why.audit.subjects.scaling import LossScaling
from whygrad.why.audit.subjects.selection import Selection
from whygrad.why.audit.subjects.sequences import Sequences
from whygrad.why.audit.subjects.settings import Settings
from whygrad.why.audit.subjects.signs import Signs
from whygrad.why.audit.subjects.statements import Statements
from whygrad.why.audit.subjects.structure import Structure
from whygrad.why.audit.subjects.targets import Targets
from whygrad.why.audit.subjects.terms import Terms
from whygrad.why.audit.subjects.twins import Twins
from whygrad.why.audit.subjects.unheld import Unheld
from whygrad.why.audit.subjects.unused import Unused

SUBJECTS: tuple[type[Subject], ...] = (
    Numbers, Parameters, GradientScale, Loop, Terms, Movement, Optimizers, Rates, Clipping, LossScaling, Autocasting, Inputs,
    Targets, Pairing, LossInputs, Modes, Layers, Structure, Settings, Loading, Aliases, Curvature, Memory, Functions,
    Distributed, Replicas, Freezing, Initialization, Padding, Detaching, Sequences, Statements, Attention,
    Layout, Indexing, Dependence, Coverage, Unused, Samples, Constants, Signs, Selection, Decay,
    Batches, Twins, Unheld, Choices)
