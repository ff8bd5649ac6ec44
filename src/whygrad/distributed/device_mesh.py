"""Device meshes: the ranks as an array, with a process group for each of its lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from whygrad.core.tensor import Tensor, wrap
from whygrad.distributed.groups import (
    ProcessGroup,
    get_rank,
    get_world_size,
    init_process_group,
    is_initialized,
    new_subgroups_by_enumeration,
    the_group,
)


class DeviceMesh:
    """Ranks in an array. `mesh["name"]` is the line, or plane, through this rank."""

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: Sequence[str] | None = None,
                 _groups: Sequence[ProcessGroup] | None = None, **options: Any) -> None:
        self.device_type = _checked_device(device_type)
        ranks = np.array(mesh._array if isinstance(mesh, Tensor) else mesh, np.int32, order="C")
        self.mesh = wrap(ranks)
        self._ranks: list[Any] = ranks.tolist()
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if _groups is None:
            if not is_initialized():
                init_process_group()
            _groups = [_group_along(ranks, dim, self._name(dim)) for dim in range(ranks.ndim)]
        self._groups = list(_groups)

    def _name(self, dim: int) -> str:
        return f"dim_{dim}" if self.mesh_dim_names is None else self.mesh_dim_names[dim]

    @staticmethod
    def from_group(group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None) -> DeviceMesh:
        """The mesh of groups that exist."""
        groups = list(group) if isinstance(group, (list, tuple)) else [group]
        ranks = groups[0].ranks if mesh is None else mesh
        return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, _groups=groups)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.mesh.shape)

    @property
    def ndim(self) -> int:
        return self.mesh.ndim

    def size(self, mesh_dim: int | None = None) -> int:
        return math.prod(self.shape) if mesh_dim is None else self.shape[mesh_dim]

    def _dimension(self, mesh_dim: int | str | None) -> int:
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(f"Found the DeviceMesh have {self.ndim} dimensions",
                                   "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                                   "If you want to get the list of all the ProcessGroups in the DeviceMesh,"
                                   "please use `get_all_groups()` instead.")
            return 0
        if isinstance(mesh_dim, int):
            return mesh_dim
        if self.mesh_dim_names is None or mesh_dim not in self.mesh_dim_names:
            raise KeyError(f"Invalid mesh_dim_name {mesh_dim}: the mesh has {self.mesh_dim_names}")
        return self.mesh_dim_names.index(mesh_dim)

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of the ranks in the line along a dimension through this rank."""
        return self._groups[self._dimension(mesh_dim)]

    def get_all_groups(self) -> list[ProcessGroup]:
        return list(self._groups)

    def get_rank(self) -> int:
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        return self.get_group(mesh_dim).rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        found = np.argwhere(self.mesh._array == get_rank())
        return tuple(found[0].tolist()) if len(found) else None

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """The ranks that share this rank's place in all other dimensions."""
        wanted = (names,) if isinstance(names, str) else names
        dims = [self._dimension(name) for name in wanted]
        if dims == list(range(self.ndim)):
            return self
        own = self.get_coordinate()
        assert own is not None
        ranks = self.mesh._array[tuple(slice(None) if dim in dims else own[dim] for dim in range(self.ndim))]
        return DeviceMesh(self.device_type, ranks.transpose(np.argsort(np.argsort(dims))), mesh_dim_names=wanted,
                          _groups=[self._groups[dim] for dim in dims])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and (self._ranks, self.mesh_dim_names) == (other._ranks, other.mesh_dim_names)

    def __hash__(self) -> int:
        return hash((self.shape, str(self._ranks), self.mesh_dim_names))

    def __repr__(self) -> str:
        shape = self.shape if self.mesh_dim_names is None else (
            "(" + ", ".join(f"{name}={size}" for name, size in zip(self.mesh_dim_names, self.shape, strict=True)) + ")")
        return f"DeviceMesh({shape}, '{self.device_type}', stride={tuple(step // 4 for step in self.mesh._array.strides)})"


def _group_along(ranks: np.ndarray, dim: int, name: str) -> Any:
    """The group of this rank along a dimension; None if it is not in the mesh. All ranks of the world call this."""
    lines = np.moveaxis(ranks, dim, -1).reshape(-1, ranks.shape[dim]).tolist()
    world = the_group(None)
    assert world is not None
    if lines == [world.ranks]:
        return world
    own, _ = new_subgroups_by_enumeration(lines, group_desc=f"mesh_{name}")
    return own


def _checked_device(device_type: str) -> str:
    if device_type != "cpu":
        raise RuntimeError(f"a device mesh of {device_type!r}: there is only the CPU here")
    return device_type


def init_device_mesh(device_type: str, mesh_shape: Sequence[int], *, mesh_dim_names: Sequence[str] | None = None,
                     backend_override: Any = None) -> DeviceMesh:
    """All ranks as an array of this shape."""
    shape = tuple(mesh_shape)
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names "
                               f"{mesh_dim_names}")
        if len(mesh_dim_names) != len(shape):
            raise RuntimeError("mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): "
                               f"{len(mesh_dim_names)} and len(mesh_shape):{len(shape)}.")
    _checked_device(device_type)
    if not is_initialized():
        init_process_group()
    if math.prod(shape) > get_world_size():
        raise RuntimeError(f"Mesh should not be bigger than default world size {get_world_size()}, but found "
                           f"{math.prod(shape)} ranks!")
    return DeviceMesh(device_type, np.arange(math.prod(shape)).reshape(shape), mesh_dim_names=mesh_dim_names)
