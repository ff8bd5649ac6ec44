"""Arguments for every row of the table: at least one sample each, and more where something is interesting."""

from row_checks import Sample

from row_samples import arithmetic, matrices, networks, pointwise, reductions, shapes

FAMILIES = (pointwise, arithmetic, shapes, reductions, matrices, networks)

SAMPLES: dict[str, list[Sample]] = {name: samples for family in FAMILIES for name, samples in family.SAMPLES.items()}
