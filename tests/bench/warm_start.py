"""The warm start of an engine with 1,000 kernels beside cuda.core's FileStreamProgramCache, which reads the same images and
checks nothing: a new process each, from opening the cache to the last image, in turns. Prints medians, ratios and sizes.

    warm_start.py KILN_WARM_BENCH [--times 11]

Wants the packages cuda-core and cuda-bindings where Python finds them. Both know their programs before the clock begins, and keep
all images to its end, as the modules of an engine do; beside them cuda.core once more, keeping none."""

import argparse
import hashlib
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


def keys(images):
    return [hashlib.sha256(path.name.encode()).digest() for path in images]


def sorted_images(folder):
    return sorted((folder / "files").iterdir(), key=lambda path: int(path.name))


def fill(folder):
    from cuda.core.utils import FileStreamProgramCache
    images = sorted_images(folder)
    with FileStreamProgramCache(folder / "cuda.core") as cache:
        for key, path in zip(keys(images), images):
            cache[key] = path.read_bytes()


def start(folder, keep):
    """One start of cuda.core's: its milliseconds and the images' bytes, printed as kiln_warm_bench does."""
    from cuda.core.utils import FileStreamProgramCache
    wanted = keys(sorted_images(folder))
    size, kept = 0, []
    began = time.perf_counter()
    with FileStreamProgramCache(folder / "cuda.core") as cache:
        for key in wanted:
            image = cache[key]
            size += len(image)
            if keep:
                kept.append(image)
    print(1e3 * (time.perf_counter() - began), size)


def told(words):
    milliseconds, size = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    return float(milliseconds), int(size)


def bytes_below(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=11)
    parser.add_argument("--child", choices=("keeping", "dropping"))
    arguments = parser.parse_args()
    if arguments.child:
        return start(arguments.bench, arguments.child == "keeping")
    with tempfile.TemporaryDirectory(dir=pathlib.Path.cwd()) as scratch:
        folder = pathlib.Path(scratch)
        subprocess.run([arguments.bench, "--make", folder], check=True)
        fill(folder)
        ways = {**{way: [sys.executable, __file__, "--child", kept, folder]
                   for way, kept in (("cuda.core", "keeping"), ("cuda.core, none kept", "dropping"))},
                **{f"{cache}, {way}": [arguments.bench, "--child", way, folder / cache]
                   for cache in ("compressed", "plain") for way in ("one", "ahead")}}
        times = {way: [] for way in ways}
        sizes = set()
        for _ in range(arguments.times):
            for way, words in ways.items():
                milliseconds, size = told(words)
                times[way].append(milliseconds)
                sizes.add(size)
        if len(sizes) != 1:
            sys.exit(f"they did not read the same: {sizes}")
        peer = statistics.median(times["cuda.core"])
        print(f"{len(sorted_images(folder))} images, {sizes.pop() / 1e6:.1f} MB")
        for way in ways:
            median = statistics.median(times[way])
            size = bytes_below(folder / way.partition(",")[0])
            print(f"{way:20} {median:8.1f} ms  {median / peer:5.2f}  {size / 1e6:8.1f} MB on the disk")
    return 0


if __name__ == "__main__":
    sys.exit(main())
