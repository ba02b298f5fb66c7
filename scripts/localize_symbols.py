#!/usr/bin/env python3
"""Hide the non-C++ symbols that a shared library exports by accident.

The libparquet of the pyarrow wheel carries a whole static OpenSSL and simdjson and exports both, so a program
that also uses the system's OpenSSL would run half on each. Every defined global symbol that is not a C++ name
(and every simdjson one) becomes hidden and loses the first letter of its name: GNU ld would otherwise still
bind to a hidden symbol of a shared object. The library's own relocations keep working, since the loader
resolves references to hidden symbols inside the object itself.

Usage: localize_symbols.py LIBRARY   (rewritten in place; running it twice changes nothing more)
"""
import struct
import sys

SHT_DYNSYM = 11
STB_GLOBAL, STB_WEAK = 1, 2
STV_HIDDEN = 2


def sections(image):
    offset, = struct.unpack_from("<Q", image, 0x28)
    size, count = struct.unpack_from("<HH", image, 0x3A)
    for i in range(count):
        yield struct.unpack_from("<IIQQQQIIQQ", image, offset + i * size)


def main(path):
    with open(path, "rb") as f:
        image = bytearray(f.read())
    if image[:5] != b"\x7fELF\x02":
        sys.exit(f"{path}: not a 64-bit ELF file")
    headers = list(sections(image))
    dynsym = next(s for s in headers if s[1] == SHT_DYNSYM)
    strings = headers[dynsym[6]]
    hidden = kept = 0
    for at in range(dynsym[4], dynsym[4] + dynsym[5], 24):
        name_at, info, other, section, _, _ = struct.unpack_from("<IBBHQQ", image, at)
        start = strings[4] + name_at
        name = bytes(image[start:image.index(0, start)])
        if section == 0 or info >> 4 not in (STB_GLOBAL, STB_WEAK) or other & 3 == STV_HIDDEN:
            continue
        if name.startswith(b"_Z") and b"simdjson" not in name or len(name) < 2:
            kept += 1
            continue
        struct.pack_into("<IBB", image, at, name_at + 1, info, (other & ~3) | STV_HIDDEN)
        hidden += 1
    with open(path, "wb") as f:
        f.write(image)
    print(f"{path}: kept {kept} symbols, hid {hidden}")


if __name__ == "__main__":
    main(*sys.argv[1:])
