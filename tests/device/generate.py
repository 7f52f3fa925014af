"""Writes a 3 MB header of little C++ (a compiler's time is no matter here) and a file with every byte but NUL, in every neighbourhood."""
import pathlib
import sys

huge, every_byte = map(pathlib.Path, sys.argv[1:])
huge.parent.mkdir(parents=True, exist_ok=True)
huge.write_text("".join(f"// line {n} of a header that is larger than most\n" for n in range(60_000))
                + "#define LAST_LINE 60000\n")
values = bytes(range(1, 256))
every_byte.write_bytes(values + values[::-1] + b"".join(bytes([v, 0x30, v]) for v in values))
