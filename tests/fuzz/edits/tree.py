"""Changes of a folder, each a function of the folder, so that a case can name one before there is any folder."""

import os
import shutil


def write(path, text):
    return lambda folder: write_file(folder / path, text)


def write_file(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


def remove(path):
    return lambda folder: (folder / path).unlink()


def remove_folder(path):
    return lambda folder: shutil.rmtree(folder / path)


def make_folder(path):
    return lambda folder: (folder / path).mkdir(parents=True, exist_ok=True)


def rename(path, to):
    return lambda folder: (folder / path).rename(folder / to)


def copy(path, to):
    return lambda folder: shutil.copytree(folder / path, folder / to)


def link(path, to):
    """A symbolic link at `path`, in the place of what is there."""
    def change(folder):
        new = folder / (path + ".new")
        new.symlink_to(to)
        new.rename(folder / path)
    return change


def hard_link(path, to):
    return lambda folder: os.link(folder / to, folder / path)


def touch(path, time=10**9):
    return lambda folder: os.utime(folder / path, (time, time))


def forbid(path):
    return lambda folder: (folder / path).chmod(0)


def rewrite_unnoticed(path, text):
    """Other content of the same size, with the time of change put back."""
    def change(folder):
        before = (folder / path).stat()
        write_file(folder / path, text)
        os.utime(folder / path, ns=(before.st_atime_ns, before.st_mtime_ns))
    return change


def in_turn(*changes):
    def change(folder):
        for each in changes:
            each(folder)
    return change


def nothing(folder):
    """The change is in what is asked for."""
