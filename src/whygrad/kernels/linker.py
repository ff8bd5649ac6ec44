"""Links cached objects without LLVM, whose library takes 25 ms to load: reading a warm cache needs no compiler.

LLVM's large code model leaves one kind of relocation on x86-64 (a 64-bit absolute address), and kernels have no writable
data. So an ELF object is packed once, when it is compiled, into an image: its sections one after the other, the places that
hold addresses of its own, and those that hold addresses of external symbols. Objects of other formats or with other
relocations are linked by LLVM (llvm.py).
"""

from __future__ import annotations

import ctypes
import marshal
import mmap
import platform
import struct
import sys
from typing import Any

SUPPORTED = sys.platform == "linux" and platform.machine() == "x86_64"

# Symbols that objects may refer to, by name: those that Python code defines, and those of objects linked so far.
symbols: dict[str, int] = {}

SECTION, SYMBOL, RELOCATION = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ"), struct.Struct("<QQq")
ALLOCATED, WRITEABLE = 0x2, 0x1  # flags of sections
NO_BITS, RELOCATIONS, UNWIND = 8, 4, 0x70000001  # types of sections; nothing unwinds through kernels
UNDEFINED, ABSOLUTE_64, GLOBAL = 0, 1, 1
ADDRESS = struct.Struct("<Q")
ADDRESS_MASK = (1 << 64) - 1
MAGIC = b"whygrad image\n"
OBJECTS = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\x64\x86", b"\x64\xaa")  # ELF, Mach-O, and COFF for x86-64 and AArch64


def pack(code: bytes) -> bytes | None:
    """The image of an object, or None if it needs LLVM's linker."""
    if not SUPPORTED or code[:6] != b"\x7fELF\x02\x01":
        return None
    (table,) = ADDRESS.unpack_from(code, 0x28)
    size, count, _ = struct.unpack_from("<HHH", code, 0x3A)
    sections = [SECTION.unpack_from(code, table + i * size) for i in range(count)]
    image, starts = bytearray(), {}
    for number, (_, kind, flags, _, offset, length, _, _, alignment, _) in enumerate(sections):
        if flags & ALLOCATED and kind != UNWIND:
            if flags & WRITEABLE or kind == NO_BITS:
                return None
            image += bytes(-len(image) % max(alignment, 1))
            starts[number] = len(image)
            image += code[offset:offset + length]
    defined: dict[str, int] = {}
    inner: list[int] = []
    outer: list[tuple[str, int, int]] = []
    for _, kind, _, _, offset, length, link, target, _, _ in sections:
        if kind != RELOCATIONS or target not in starts:
            continue
        names = sections[sections[link][6]][4]
        for place, info, addend in RELOCATION.iter_unpack(code[offset:offset + length]):
            name, _, _, section, value, _ = SYMBOL.unpack_from(code, sections[link][4] + (info >> 32) * SYMBOL.size)
            if info & 0xFFFFFFFF != ABSOLUTE_64 or not (section == UNDEFINED or section in starts):
                return None
            place += starts[target]
            if section == UNDEFINED:
                outer.append((_text(code, names + name), place, addend))
            else:  # relative to the image; its address is added when it is placed
                ADDRESS.pack_into(image, place, (starts[section] + value + addend) & ADDRESS_MASK)
                inner.append(place)
    for _, kind, _, _, offset, length, link, _, _, _ in sections:
        if kind == 2:  # the table of symbols
            for name, info, _, section, value, _ in SYMBOL.iter_unpack(code[offset:offset + length]):
                if info >> 4 == GLOBAL and section in starts:
                    defined[_text(code, sections[link][4] + name)] = starts[section] + value
    return MAGIC + marshal.dumps((bytes(image), defined, inner, outer))


def _text(code: bytes, start: int) -> str:
    return code[start:code.index(b"\0", start)].decode()


def is_image(data: bytes) -> bool:
    return data.startswith(MAGIC)


def place(image: bytes) -> None:
    """Put an image into executable memory, and its functions among the symbols."""
    code, defined, inner, outer = marshal.loads(memoryview(image)[len(MAGIC):])
    memory, base = _allocate(len(code))
    memory[:len(code)] = code
    for offset in inner:
        ADDRESS.pack_into(memory, offset, ADDRESS.unpack_from(code, offset)[0] + base)
    for name, offset, addend in outer:
        ADDRESS.pack_into(memory, offset, address_of_symbol(name) + addend)
    if _protect(base, len(memory), mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError("the system does not allow code to be written and run")
    for name, offset in defined.items():
        symbols[name] = base + offset


def address_of_symbol(name: str) -> int:
    """Of a symbol that was defined, or of the C function or variable of that name in this process."""
    found = symbols.get(name)
    if found is None:
        found = symbols[name] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    return found


_protect: Any = ctypes.CDLL(None).mprotect if SUPPORTED else None
if _protect is not None:
    _protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
ARENA = 1 << 20
_arena: Any = None
_address = _used = 0


def _allocate(size: int) -> tuple[memoryview, int]:
    """Whole pages of writable memory, and their address. They are never given back: kernels live until the process ends."""
    global _arena, _address, _used
    size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    if _arena is None or _used + size > len(_arena):
        _arena, _used = memoryview(mmap.mmap(-1, max(size, ARENA), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)), 0
        held = ctypes.c_char.from_buffer(_arena)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))
        _address = ctypes.addressof(held)
    start = _used
    _used += size
    return _arena[start:_used], _address + start
