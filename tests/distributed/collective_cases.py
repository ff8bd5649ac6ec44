"""What two ranks do in the tests of collectives: functions of (torch, dist, rank)."""

from __future__ import annotations

import importlib
from typing import Any

# Lines that are run on both libraries; `x` is what they write, if they name it.
LINES = [
    *[f"x = torch.tensor([1, 0, 3], dtype=torch.{dtype}) * (rank + 1); dist.all_reduce(x)" for dtype in (
        "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")],
    "x = torch.tensor([rank == 0, rank == 1, True, False]); dist.all_reduce(x)",
    *[f"x = torch.tensor([3., 5.]) + rank; dist.all_reduce(x, dist.ReduceOp.{op})" for op in (
        "SUM", "AVG", "PRODUCT", "MIN", "MAX")],
    *[f"x = torch.tensor([3, 5]) + rank; dist.all_reduce(x, dist.ReduceOp.{op})" for op in ("BAND", "BOR", "BXOR", "MAX")],
    *[f"x = torch.tensor([rank == 0, True]); dist.all_reduce(x, dist.ReduceOp.{op})" for op in (
        "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")],
    "x = torch.arange(6.).view(2, 3).t() + rank; dist.all_reduce(x)",
    "x = torch.ones(0); dist.all_reduce(x)",
    "x = torch.tensor(2.5); dist.all_reduce(x)",
    "x = torch.ones(2, requires_grad=True); dist.all_reduce(x)",
    "x = torch.ones(2); dist.all_reduce(x); x = x._version",
    "x = torch.full((3,), float(rank)); w = dist.all_reduce(x, async_op=True); x = [w.wait(), w.is_success(), x]",
    "x = torch.ones(2) + rank; w = dist.all_reduce(x, async_op=rank == 0); x = x if rank else w.wait() and x",
    "x = torch.ones(2); x = dist.all_reduce(x, async_op=True).get_future().wait()",
    "x = torch.ones(2); x = dist.all_reduce(x, async_op=True).get_future().then(lambda f: f.value()[0] / 2).wait()",
    "x = [torch.ones(2), torch.ones(3)]; dist.all_reduce_coalesced(x)",
    *[f"x = torch.tensor([rank, 1], dtype=torch.{dtype}); dist.broadcast(x, 1)" for dtype in (
        "float32", "bfloat16", "int64", "bool")],
    "x = (torch.arange(6.).view(2, 3) * (rank + 1)).t(); dist.broadcast(x, 1)",
    "x = torch.ones(2) * (rank + 1); dist.broadcast(x, group_src=1)",
    "x = torch.ones(2) + rank; dist.reduce(x, 0); x = x if rank == 0 else None",
    "x = torch.ones(2, dtype=torch.bfloat16) + rank; dist.reduce(x, 1, dist.ReduceOp.MAX); x = x if rank == 1 else None",
    "x = [torch.zeros(2), torch.zeros(2)]; dist.all_gather(x, torch.ones(2) + rank)",
    "x = [torch.zeros(2).bool(), torch.zeros(2).bool()]; dist.all_gather(x, torch.tensor([True, rank == 1]))",
    "x = [torch.zeros(0, 3), torch.zeros(0, 3)]; dist.all_gather(x, torch.ones(0, 3))",
    "x = [torch.zeros(3, 2).t(), torch.zeros(3, 2).t()]; dist.all_gather(x, torch.ones(2, 3) + rank)",
    "x = torch.zeros(4); dist.all_gather_into_tensor(x, torch.ones(2) + rank)",
    ("x = torch.zeros(2, 2) if rank == 0 else None; y = [torch.zeros(2), torch.zeros(2)] if rank == 0 else None; "
    "dist.gather(torch.ones(2) + rank, y); x = y"),
    "x = torch.zeros(2); dist.scatter(x, [torch.ones(2), torch.ones(2) * 2] if rank == 1 else None, 1)",
    "x = torch.zeros(2); dist.reduce_scatter_tensor(x, torch.arange(4.) * (rank + 1))",
    "x = torch.zeros(2); dist.reduce_scatter(x, [torch.ones(2), torch.ones(2) * (rank + 2)])",
    "x = torch.zeros(4); dist.all_to_all_single(x, torch.arange(4.) + 10 * rank)",
    ("x = torch.zeros(3 if rank == 0 else 1); dist.all_to_all_single(x, torch.arange(2.) + 10 * rank, "
    "[2, 1] if rank == 0 else [0, 1], [2, 0] if rank == 0 else [1, 1])"),
    "x = [torch.zeros(2), torch.zeros(2)]; dist.all_to_all(x, [torch.ones(2) * rank, torch.ones(2) + rank])",
    "x = torch.zeros(2); x = (dist.send(torch.ones(2), 1) if rank == 0 else dist.recv(x, 0)), x",
    "x = torch.zeros(2, 2); x = (dist.send(torch.ones(2, 2), 0, tag=7) if rank else dist.recv(x, tag=7)), x",
    "x = torch.zeros(2); y = [dist.isend(torch.ones(2) * rank, 1 - rank), dist.irecv(x, 1 - rank)]; [w.wait() for w in y]",
    ("x = torch.zeros(2); y = dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.ones(2) * rank, 1 - rank), "
    "dist.P2POp(dist.irecv, x, 1 - rank)]); [w.wait() for w in y]"),
    "x = [None, None]; dist.all_gather_object(x, {'rank': rank, 'much': 'x' * 10 ** (rank + 1)})",
    "x = [rank, None]; dist.broadcast_object_list(x, 1)",
    "x = [None, None] if rank == 1 else None; dist.gather_object((rank, 'a'), x, 1)",
    "x = [None]; dist.scatter_object_list(x, ['a', [1, 2]] if rank == 0 else [None, None])",
    "x = [None, None]; dist.send_object_list(['a', 3], 1) if rank == 0 else dist.recv_object_list(x, 0)",
    "dist.barrier(); dist.monitored_barrier(); x = 1",
    "x = dist.get_rank(), dist.get_world_size(), dist.is_initialized(), dist.get_process_group_ranks(dist.group.WORLD)",
    "g = dist.new_group([1]); x = torch.ones(1); dist.all_reduce(x, group=g); x = x, dist.get_rank(g), dist.get_world_size(g)",
    ("g = dist.new_group([0, 1]); x = torch.ones(1); dist.all_reduce(x, group=g); x = x, g.rank(), g.size(); "
    "dist.destroy_process_group(g)"),
    "g, gs = dist.new_subgroups(1); x = dist.get_world_size(g), dist.get_process_group_ranks(g), len(gs)",
    "x = dist.new_group([1]) is dist.GroupMember.NON_GROUP_MEMBER",
    "x = repr(dist.ReduceOp.SUM), str(dist.ReduceOp.AVG), isinstance(dist.ReduceOp.MAX, dist.ReduceOp)",
    "x = dist.get_global_rank(dist.group.WORLD, 1), dist.get_group_rank(dist.group.WORLD, 1)",
    "x = [dist.all_reduce(torch.ones(9), async_op=True) and None for _ in range(200)]; dist.barrier()",  # handles are dropped
    # Meshes.
    "m = mesh.init_device_mesh('cpu', (2,)); x = m.size(), m.ndim, m.shape, m.get_local_rank(), m.get_rank(), m.get_coordinate()",
    "x = repr(mesh.init_device_mesh('cpu', (2,))), repr(mesh.init_device_mesh('cpu', (2,), mesh_dim_names=('a',)))",
    "m = mesh.init_device_mesh('cpu', (2,)); x = torch.ones(1); dist.all_reduce(x, group=m.get_group()); x = x, m.mesh.tolist()",
    ("m = mesh.init_device_mesh('cpu', (2, 1), mesh_dim_names=('a', 'b')); x = torch.ones(1) + rank; "
     "dist.all_reduce(x, group=m.get_group('a')); x = x, m['b'].size(), m['a'].get_local_rank(), m['b'].mesh.tolist(), "
     "m.get_local_rank('b'), m['a'].mesh_dim_names, m.size(1), len(m.get_all_groups()), m['a', 'b'] == m"),
    "x = mesh.DeviceMesh('cpu', [0, 1]) == mesh.init_device_mesh('cpu', (2,)), mesh.DeviceMesh('cpu', [0, 1]).mesh_dim_names",
    "x = mesh.DeviceMesh.from_group(dist.group.WORLD, 'cpu').get_local_rank()",
    # Errors.
    "mesh.init_device_mesh('cpu', (3,))",
    "mesh.init_device_mesh('cpu', (1, 2)).get_group()",
    "mesh.init_device_mesh('cpu', (2,), mesh_dim_names=('a', 'b'))",
    "dist.destroy_process_group(3)",
    "dist.all_reduce(torch.ones(1), group=3)",
    "dist.all_reduce([1])",
    "dist.all_gather(torch.ones(2), torch.ones(2))",
    "dist.all_gather([1, 2], torch.ones(2))",
    "dist.all_gather([torch.ones(2), torch.ones(2).int()], torch.ones(2))",
    "dist.send(torch.ones(1), rank)",
    "dist.init_process_group('gloo')",
    "dist.new_group([0, 5])",
    "dist.new_group([0, 0])",
    "dist.P2POp(dist.all_reduce, torch.ones(1), 0)",
    "dist.batch_isend_irecv([])",
    "dist.batch_isend_irecv([3])",
    "dist.broadcast(torch.ones(1), 0, group_src=0)",
]

# torch's words name its backend: gloo's here, MPI's in ours.
BACKEND_ERRORS = [
    "dist.all_gather([torch.ones(2)], torch.ones(2))",
    "dist.all_gather([torch.ones(3), torch.ones(3)], torch.ones(2))",
    "dist.broadcast(torch.ones(1), 5)",
]

DIFFERENTIABLE = [
    "F.all_reduce(a * (rank + 1))",
    "F.all_reduce(a * (rank + 1), dist.ReduceOp.SUM) * a",
    "F.broadcast(a * (rank + 1), 1)",
    "F.reduce(a * (rank + 1), 0) if rank == 0 else F.reduce(a, 0) * 0",
    "sum((i + 2) * t for i, t in enumerate(F.all_gather(a * (rank + 1))))",
    "F.reduce_scatter(torch.zeros(3), [a * 2, a * (rank + 3)])",
    "F.scatter([a * 2, a * 3], 0)",
    "F.gather(a * (rank + 1), 0)[1]",
    "F.all_to_all([torch.zeros(3), torch.zeros(3)], [a * 2, a * (rank + 3)])[1]",
    "F.all_to_all_single(torch.zeros(4), torch.cat([a, a[:1]]) * (rank + 1))[:3]",
]


def line(torch: Any, dist: Any, rank: int, text: str) -> Any:
    mesh = importlib.import_module(f"{dist.__name__}.device_mesh")
    names = {"torch": torch, "dist": dist, "mesh": mesh, "rank": rank, "x": None}
    exec(text, names)
    return names["x"]


def derivative(torch: Any, dist: Any, rank: int, text: str) -> Any:
    functional = importlib.import_module(f"{dist.__name__}.nn.functional")
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    out = eval(text, {"torch": torch, "dist": dist, "rank": rank, "a": a, "F": functional})
    (out * torch.tensor([1.0, 5.0, 7.0])).sum().backward()
    return out, a.grad
