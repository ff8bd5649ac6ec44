"""Functions with something that no program can repeat: what comes before and after that statement is compiled.

The function's source is read again. In the block that holds the statement, its neighbours become functions of their own
(*parts*): they get the variables that they read, and give back those that are read elsewhere. The statement itself, and whatever
cannot be moved into a function (`return`, `del`, what may not be bound yet), stays as it is; but the program's functions and
modules that it calls are compiled by themselves. A part that cannot be compiled is divided in its turn.
"""

from __future__ import annotations

import ast
import copy
import dis
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

from whygrad.base.frames import is_of_package
from whygrad.compilation.variables import exposed, names_in
from whygrad.nn.module import Module

BLOCKS = (ast.For, ast.While, ast.If, ast.With)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
# What cannot be moved into another function.
FIXED = (*FUNCTIONS, ast.Return, ast.Break, ast.Continue, ast.Delete, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom,
         ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr, ast.Try, ast.TryStar, ast.Raise, ast.Match)
# Functions that look at the frame that calls them.
OF_THE_FRAME = frozenset({"super", "locals", "vars", "eval", "exec", "dir"})
RETURNED = "returned_by_a_part"


class Cannot(Exception):
    """The function stays in one piece."""


# Functions and modules that one statement calls, of which each is compiled by itself.
MOST_CALLED = 64
CALL = "compiled_call"


class Called:
    """Calls functions and modules of the program compiled, and everything else as it is."""

    def __init__(self, compiled: Callable[..., Any]) -> None:
        self.compiled = compiled
        self.known: dict[Any, Any] = {}

    def __call__(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(function, Module):
            function = function.__call__
        found = None
        if isinstance(function, (types.FunctionType, types.MethodType)) and code_of(function) is not None:
            key = id(getattr(function, "__self__", None)), getattr(function, "__func__", function)
            found = self.known.get(key)
            if found is None and len(self.known) < MOST_CALLED:
                found = self.known[key] = self.compiled(function, None)
        return (found or function)(*args, **kwargs)


class OwnCalls(ast.NodeTransformer):
    """Lets calls go through `CALL`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in OF_THE_FRAME:
            return node
        return ast.copy_location(ast.Call(ast.Name(CALL, ast.Load()), [node.func, *node.args], node.keywords), node)

    def _as_it_is(self, node: ast.AST) -> ast.AST:
        return node

    visit_Lambda = visit_FunctionDef = visit_ClassDef = visit_AsyncFunctionDef = _as_it_is


class Divided:
    """A function in parts, for as long as the one that it was made from is unchanged.

    `cause` of the statement between the parts: its line; or the place or name of an argument, of which it is the first to
    read it; or None for the first one that writes into an object. `compiled(function, tree)` makes a part.
    """

    def __init__(self, whole: Callable[..., Any], tree: ast.FunctionDef | None, cause: int | str | None,
                 compiled: Callable[[Any, ast.FunctionDef | None], Any]) -> None:
        self.whole = whole
        self.source = function = plain_function(whole)
        self.tree = tree = tree_of(function) if tree is None else tree
        self.kept = function.__code__, function.__defaults__, function.__kwdefaults__
        self.parts: list[Any] = []
        self.called = Called(compiled)
        self.compiled = compiled
        self.locals = {*function.__code__.co_varnames, *function.__code__.co_cellvars}
        self._refuse_captured()
        target = _first_store(tree) if cause is None else _statement_at(tree, cause) if isinstance(cause, int) else (
            _first_reader(tree, cause, isinstance(whole, types.MethodType)))
        parameters = tree.args
        bound = {a.arg for a in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)}
        bound |= {a.arg for a in (parameters.vararg, parameters.kwarg) if a is not None}
        body = self._divided(tree.body, target, bound, is_last=True)
        if not self.parts and not any(isinstance(x, ast.Name) and x.id == CALL for s in body for x in ast.walk(s)):
            raise Cannot("nothing is left to compile")
        self.function = self._function(tree, body, function.__name__)
        self.function.__defaults__, self.function.__kwdefaults__ = self.kept[1:]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        f, whole = self.source, self.whole
        is_old = (f.__code__, f.__defaults__, f.__kwdefaults__) != self.kept
        if is_old or plain_function(whole) is not f or (is_call(whole) and has_hooks(whole.__self__)):  # type: ignore[attr-defined]
            return whole(*args, **kwargs)
        return self.function(*((whole.__self__,) if isinstance(whole, types.MethodType) else ()), *args, **kwargs)

    def explanation(self) -> list[str]:
        return [line for part in (*self.parts, *self.called.known.values()) for line in part.explanation().splitlines()]

    def _refuse_captured(self) -> None:
        """Variables that change while an inner function sees them cannot be moved."""
        stored = names_in(self.tree.body, ast.Store)
        for node in ast.walk(self.tree):
            if isinstance(node, FUNCTIONS) and node is not self.tree and not stored.isdisjoint(names_in([node], ast.Load)):
                raise Cannot("an inner function sees variables")

    def _divided(self, statements: list[ast.stmt], target: ast.stmt, bound: set[str], is_last: bool = False) -> list[ast.stmt]:
        """A block with parts in it. `bound` are the variables that have a value for sure, and is brought up to date."""
        result: list[ast.stmt] = []
        run: list[ast.stmt] = []
        run_bound = set(bound)

        def end_run() -> None:
            result.extend(self._as_part(run, run_bound))
            run.clear()

        for statement in statements:
            if is_last and isinstance(statement, ast.Return) and statement is not target and statement.value is not None and (
                    _computes(statement.value) and not _is_fixed(statement.value)):
                name = ast.Name(RETURNED, ast.Store())
                self.locals.add(RETURNED)
                run.append(ast.copy_location(ast.Assign([name], statement.value), statement))
                statement = ast.copy_location(ast.Return(ast.Name(RETURNED, ast.Load())), statement)
            if _holds(statement, target) or _is_fixed(statement):
                end_run()
                if statement is not target and _holds(statement, target):
                    self._inside(statement, target, set(bound))
                elif statement is target:
                    statement = self._with_own_calls(statement)
                result.append(statement)
                bound |= exposed([statement], set())[1]
                run_bound = set(bound)
            else:
                run.append(statement)
                bound |= exposed([statement], set())[1]
        end_run()
        return result

    def _with_own_calls(self, statement: ast.stmt) -> ast.stmt:
        copied = copy.deepcopy(statement)
        if not isinstance(copied, BLOCKS):
            return OwnCalls().visit(copied)  # type: ignore[no-any-return]
        for field in ("test", "iter"):
            if hasattr(copied, field):
                setattr(copied, field, OwnCalls().visit(getattr(copied, field)))
        return copied

    def _inside(self, statement: ast.stmt, target: ast.stmt, bound: set[str]) -> None:
        if isinstance(statement, ast.For):
            bound |= names_in([statement.target], ast.Store)
        if isinstance(statement, ast.With):
            bound |= names_in([item.optional_vars for item in statement.items if item.optional_vars], ast.Store)
        for field in ("body", "orelse"):
            block = getattr(statement, field, [])
            if any(_holds(inner, target) for inner in block):
                setattr(statement, field, self._divided(block, target, bound))

    def _as_part(self, run: list[ast.stmt], bound: set[str]) -> list[ast.stmt]:
        """The statement that calls a new part, if the run can be one."""
        if not any(map(_computes, run)):
            return list(run)
        read, definite = exposed(run, bound)
        read &= self.locals
        stored, elsewhere = names_in(run, ast.Store) & self.locals, self._loaded_outside(run)
        given = sorted(stored & (elsewhere | read))  # what it reads at first, it reads again in the next turn of a loop
        if not read <= bound or not set(given) <= definite:
            return list(run)
        wanted = read | (set(given) & bound)
        inputs = sorted(wanted)
        body = [*run, ast.Return(ast.Tuple([ast.Name(name, ast.Load()) for name in given], ast.Load()))]
        arguments = ast.arguments([], [ast.arg(name) for name in inputs], None, [], [], None, [])
        tree = ast.copy_location(ast.FunctionDef(self.tree.name, arguments, body, []), run[0])
        number = len(self.parts)
        part = self._function(tree, body, self.tree.name)
        self.parts.append(self.compiled(part, ast.fix_missing_locations(tree)))
        call = ast.Call(ast.Name(f"part_{number}", ast.Load()), [ast.Name(name, ast.Load()) for name in inputs], [])
        target = ast.Tuple([ast.Name(name, ast.Store()) for name in given], ast.Store())
        statement = ast.Assign([target], call) if given else ast.Expr(call)
        return [ast.copy_location(statement, run[0])]

    def _loaded_outside(self, run: list[ast.stmt]) -> set[str]:
        inside = {id(x) for statement in run for x in ast.walk(statement)}
        return {RETURNED} | {x.id for x in ast.walk(self.tree) if isinstance(x, ast.Name) and id(x) not in inside}

    def _function(self, tree: ast.FunctionDef, body: list[ast.stmt], name: str) -> types.FunctionType:
        """Compile a function of this text in the place of the old one: with its globals and its closure."""
        source = self.source
        cells = dict(zip(source.__code__.co_freevars, source.__closure__ or (), strict=True))
        cells[CALL] = types.CellType(self.called)
        cells |= {f"part_{i}": types.CellType(part) for i, part in enumerate(self.parts)}
        made = ast.copy_location(ast.FunctionDef(name, tree.args, body, []), tree)
        code = compiled_code(made, list(cells), source.__code__.co_filename)
        code = code.replace(co_qualname=source.__code__.co_qualname)
        return types.FunctionType(code, source.__globals__, name, None, tuple(cells[v] for v in code.co_freevars) or None)


def is_call(whole: Any) -> bool:
    """Whether it is the call of a module."""
    return isinstance(whole, types.MethodType) and isinstance(whole.__self__, Module) and whole.__func__ is Module.__call__


def has_hooks(module: Module) -> bool:
    return bool(module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks)


def plain_function(whole: Any) -> types.FunctionType:
    """The function with the text of a function, of a method, or of a module's forward."""
    found = whole.__self__.forward if is_call(whole) else whole
    found = getattr(found, "__func__", found)
    if not isinstance(found, types.FunctionType) or is_of_package(found):
        raise Cannot("not a function of the program")
    return found


def code_of(whole: Any) -> types.CodeType | None:
    """The code of the function that could be divided."""
    try:
        return plain_function(whole).__code__
    except Cannot:
        return None


def unread_arguments(whole: Any) -> tuple[set[str], list[str]]:
    """The parameters that a function never reads, and the names of all that can be given by place."""
    try:
        code = plain_function(whole).__code__
    except Cannot:
        return set(), []
    names = list(code.co_varnames[:code.co_argcount])[isinstance(whole, types.MethodType):]
    if is_call(whole) and has_hooks(whole.__self__):
        return set(), names
    read = {i.argval for i in dis.get_instructions(code) if i.opname.startswith("LOAD_")}
    is_open = not OF_THE_FRAME.isdisjoint(code.co_names)
    return (set() if is_open else {*code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]} - read), names


def compiled_code(tree: ast.FunctionDef, free: list[str], filename: str) -> types.CodeType:
    """The code of a function, of which some variables are those of a function around it."""
    bare = ast.copy_location(ast.FunctionDef(tree.name, _without_defaults(tree.args), tree.body, []), tree)
    around = ast.FunctionDef("around", ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, []), [bare], [])
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(around, tree)], []))
    outer = next(x for x in compile(module, filename, "exec").co_consts if isinstance(x, types.CodeType))
    return next(x for x in outer.co_consts if isinstance(x, types.CodeType) and x.co_name == tree.name)


def _without_defaults(a: ast.arguments) -> ast.arguments:
    def bare(x: ast.arg | None) -> ast.arg | None:
        return None if x is None else ast.arg(x.arg)

    return ast.arguments([ast.arg(x.arg) for x in a.posonlyargs], [ast.arg(x.arg) for x in a.args], bare(a.vararg),
                         [ast.arg(x.arg) for x in a.kwonlyargs], [None] * len(a.kwonlyargs), bare(a.kwarg), [])


def tree_of(function: types.FunctionType) -> ast.FunctionDef:
    """The text of a function as a tree, if it is still what runs."""
    code = function.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise Cannot("a generator")
    try:
        lines, first = inspect.getsourcelines(function)
        parsed = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError) as error:
        raise Cannot(f"no source: {error}") from None
    tree = parsed.body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise Cannot("no def")
    ast.increment_lineno(tree, first - 1)
    found = compiled_code(tree, list(code.co_freevars), code.co_filename)
    if _operations(found) != _operations(code) or found.co_freevars != code.co_freevars:
        raise Cannot("the source is not what runs")
    return tree


def _operations(code: types.CodeType) -> list[Any]:
    """What code does. How a method is called may differ: it depends on imports elsewhere in the file."""
    jumps = {*dis.hasjrel, *dis.hasjabs}
    return [(i.opname.replace("METHOD", "ATTR"),
             None if i.opcode in jumps or isinstance(i.argval, types.CodeType) else repr(i.argval))
            for i in dis.get_instructions(code) if i.opname not in ("PUSH_NULL", "PRECALL", "CACHE", "NOP", "RESUME")]


def _computes(node: ast.AST) -> bool:
    return any(isinstance(x, ast.Call | ast.BinOp) for x in ast.walk(node))


def _is_fixed(node: ast.AST) -> bool:
    return any(isinstance(x, FIXED) or (isinstance(x, ast.Name) and x.id in OF_THE_FRAME) for x in ast.walk(node))


def _holds(statement: ast.stmt, target: ast.stmt) -> bool:
    return statement is target or any(x is target for x in ast.walk(statement))


def _blocks(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements in blocks that can be divided, from the outer to the inner."""
    for statement in statements:
        yield statement
        if isinstance(statement, BLOCKS):
            yield from _blocks([*statement.body, *getattr(statement, "orelse", [])])


def _statement_at(tree: ast.FunctionDef, line: int) -> ast.stmt:
    found = [s for s in _blocks(tree.body) if s.lineno <= line <= (s.end_lineno or s.lineno)]
    if not found:
        raise Cannot("the line is not in the function")
    return found[-1]


def _first_reader(tree: ast.FunctionDef, argument: str, is_method: bool) -> ast.stmt:
    if argument.isdigit():
        places = [*tree.args.posonlyargs, *tree.args.args]
        number = int(argument) + is_method
        argument = places[number].arg if number < len(places) else ""
    for statement in _blocks(tree.body):
        head = statement if not isinstance(statement, BLOCKS) else getattr(statement, "test", getattr(statement, "iter", None))
        if head is not None and argument in names_in([head], ast.Load):
            return statement
    raise Cannot("the argument is not read by name")


def _first_store(tree: ast.FunctionDef) -> ast.stmt:
    """The first statement that writes into an object."""
    for statement in _blocks(tree.body):
        targets = statement.targets if isinstance(statement, ast.Assign) else (
            [statement.target] if isinstance(statement, ast.AugAssign | ast.AnnAssign) else [])
        if any(isinstance(x, ast.Attribute | ast.Subscript) for target in targets for x in ast.walk(target)):
            return statement
    raise Cannot("nothing is written")
