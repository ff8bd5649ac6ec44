"""Stores: small values under keys, which several processes share. Collectives do not use them: MPI brings ranks together.

A Table holds the values. HashStore has one of its own; a FileStore reads and writes one in a locked file; a TCPStore asks the one
of its master, in a thread of rank 0, by messages of JSON.
"""

from __future__ import annotations

import functools
import json
import operator
import os
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

from whygrad.distributed.errors import DistNetworkError, DistStoreError

TIMEOUT = timedelta(seconds=300)
POLL_SECONDS = 0.01
MEMBERS = "init/"  # the key of the number of processes that have come to a TCPStore; num_keys counts it, as in torch


class Table:
    """What all stores have in common. Bytes are strings here, as latin-1, so that JSON can carry them."""

    def __init__(self, values: dict[str, str] | None = None) -> None:
        self.values = {} if values is None else values

    def set(self, key: str, value: str) -> None:
        self.values[key] = value

    def get(self, key: str) -> str | None:
        return self.values.get(key)

    def check(self, keys: list[str]) -> bool:
        return all(key in self.values for key in keys)

    def add(self, key: str, amount: int) -> int:
        total = int(self.values.get(key, "0")) + amount
        self.values[key] = str(total)
        return total

    def append(self, key: str, value: str) -> None:
        self.values[key] = self.values.get(key, "") + value

    def compare_set(self, key: str, expected: str, desired: str) -> str:
        """The value afterwards; `expected` if there is none, and it was not expected that there is none."""
        if self.values.get(key, "") == expected:
            self.values[key] = desired
        return self.values.get(key, expected)

    def delete_key(self, key: str) -> bool:
        return self.values.pop(key, None) is not None

    def keys(self) -> list[str]:
        return list(self.values)


def _seconds(timeout: timedelta) -> float:
    return timeout.total_seconds()


def _text(value: Any) -> str:
    if not isinstance(value, (str, bytes, bytearray)):
        raise TypeError(f"a store holds str and bytes, not {type(value).__name__}")
    return (value.encode() if isinstance(value, str) else value).decode("latin-1")


class Store:
    """The functions of a store; its `_ask` calls a function of the table, wherever that is."""

    timeout = TIMEOUT

    def _ask(self, function: str, *arguments: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.{function}")

    def set(self, key: str, value: Any) -> None:
        self._ask("set", key, _text(value))

    def get(self, key: str) -> bytes:
        """The value of a key. Waits until there is one."""
        self.wait([key])
        return self._ask("get", key).encode("latin-1")  # type: ignore[no-any-return]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until there are all of these keys."""
        seconds = _seconds(self.timeout if timeout is None else timeout)
        deadline = time.monotonic() + seconds
        while not self.check(keys):
            if time.monotonic() > deadline:
                raise DistStoreError(f"wait timeout after {seconds * 1000:.0f}ms, keys: {', '.join(self._full(k) for k in keys)}")
            time.sleep(POLL_SECONDS)

    def _full(self, key: str) -> str:
        return f"/{key}"

    def check(self, keys: Sequence[str]) -> bool:
        return bool(self._ask("check", list(keys)))

    def add(self, key: str, amount: int) -> int:
        return int(self._ask("add", key, operator.index(amount)))

    def append(self, key: str, value: Any) -> None:
        self._ask("append", key, _text(value))

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Set the value if it is the expected one; gives the value afterwards."""
        found = self._ask("compare_set", key, _text(expected_value), _text(desired_value))
        return found.encode("latin-1")  # type: ignore[no-any-return]

    def delete_key(self, key: str) -> bool:
        return bool(self._ask("delete_key", key))

    def num_keys(self) -> int:
        return len(self._ask("keys"))

    def list_keys(self) -> list[str]:
        return [key for key in self._ask("keys") if key != MEMBERS]

    def multi_set(self, keys: Sequence[str], values: Sequence[Any]) -> None:
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return [self.get(key) for key in keys]

    def set_timeout(self, timeout: timedelta) -> None:
        self.timeout = timeout

    def has_extended_api(self) -> bool:
        return True


class HashStore(Store):
    """A store of the threads of one process."""

    def __init__(self) -> None:
        self._table, self._lock = Table(), threading.Lock()

    def _ask(self, function: str, *arguments: Any) -> Any:
        with self._lock:
            return getattr(self._table, function)(*arguments)


class FileStore(Store):
    """A store of the processes that see one file."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        self.path = os.fspath(file_name)

    def _ask(self, function: str, *arguments: Any) -> Any:
        import fcntl

        with open(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644), "r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # the end of the block gives it back
            text = file.read()
            table = Table(json.loads(text) if text else {})
            answer = getattr(table, function)(*arguments)
            file.seek(0)
            file.truncate()
            file.write(json.dumps(table.values))
        return answer


class TCPStore(Store):
    """A store of the processes that reach one port; the master serves it."""

    def __init__(self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
                 timeout: timedelta = TIMEOUT, wait_for_workers: bool = True, multi_tenant: bool = False,
                 master_listen_fd: int | None = None, use_libuv: bool = True) -> None:
        if master_listen_fd is not None:
            raise NotImplementedError("TCPStore(master_listen_fd=...)")
        self.host, self.timeout, self.is_master = host_name, timeout, is_master
        if is_master:
            self._master = _Master(host_name, port)
            port = self._master.port
        self.port = port
        self._lock = threading.Lock()
        self._connection = self._connect()
        if world_size and wait_for_workers:
            self._join(world_size)

    def _connect(self) -> Connection:
        deadline = time.monotonic() + _seconds(self.timeout)
        while True:
            try:
                return Client((self.host, self.port))
            except OSError as error:
                if time.monotonic() > deadline:
                    raise DistNetworkError(f"The client socket has timed out after {_seconds(self.timeout) * 1000:.0f}ms while "
                                           f"trying to connect to ({self.host}, {self.port}).") from error
                time.sleep(POLL_SECONDS)

    def _join(self, world_size: int) -> None:
        """Wait until there are as many processes; the counter of them is a key, as in torch."""
        deadline = time.monotonic() + _seconds(self.timeout)
        here = self.add(MEMBERS, 1)
        while self.is_master and here < world_size:
            if time.monotonic() > deadline:
                raise DistStoreError(f"Timed out after {_seconds(self.timeout):.0f} seconds waiting for clients. "
                                     f"{here}/{world_size} clients joined.")
            time.sleep(POLL_SECONDS)
            here = self.add(MEMBERS, 0)

    def _ask(self, function: str, *arguments: Any) -> Any:
        with self._lock:
            try:
                self._connection.send_bytes(json.dumps([function, *arguments]).encode())
                return json.loads(self._connection.recv_bytes())
            except (EOFError, OSError) as error:
                raise DistNetworkError(f"failed to recv, got 0 bytes. Connection was likely closed. Did the remote server "
                                       f"({self.host}, {self.port}) shutdown or crash?") from error


class _Master:
    """Serves a table to all who connect, in a thread for each."""

    def __init__(self, host: str, port: int) -> None:
        try:
            self._listener = Listener((host, port), backlog=128)
        except OSError as error:
            raise DistNetworkError(f"The server socket has failed to listen on any local network address. {host}, port: {port}: "
                                   f"{error.strerror}") from error
        self.port: int = self._listener.address[1]  # type: ignore[assignment]
        self._table, self._lock = Table(), threading.Lock()
        _in_thread(self._accept)

    def _accept(self) -> None:
        while True:
            connection = self._listener.accept()
            _in_thread(functools.partial(self._serve, connection))

    def _serve(self, connection: Connection) -> None:
        while True:
            try:
                function, *arguments = json.loads(connection.recv_bytes())
            except (EOFError, OSError):
                return
            with self._lock:
                answer = getattr(self._table, function)(*arguments)
            connection.send_bytes(json.dumps(answer).encode())


def _in_thread(call: Callable[[], Any]) -> None:
    threading.Thread(target=call, daemon=True, name="whygrad-store").start()


class PrefixStore(Store):
    """Another store, in which all keys begin with a prefix."""

    def __init__(self, prefix: str, store: Store) -> None:
        self.prefix, self.underlying_store = prefix, store
        self.timeout = store.timeout

    def _ask(self, function: str, *arguments: Any) -> Any:
        if function == "keys":
            return self.underlying_store._ask("keys")
        key, *others = arguments
        named = [self._named(k) for k in key] if isinstance(key, list) else self._named(key)
        return self.underlying_store._ask(function, named, *others)

    def list_keys(self) -> list[str]:
        begin = self._named("")
        return [key.removeprefix(begin) for key in self.underlying_store.list_keys() if key.startswith(begin)]

    def _named(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    def _full(self, key: str) -> str:
        return self.underlying_store._full(self._named(key))
