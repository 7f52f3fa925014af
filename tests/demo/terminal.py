"""A command on a terminal of its own."""

import os
import pty
import subprocess


def run_on_terminal(words, environment, **more):
    """Its status, and all that it wrote to standard output and standard error."""
    master, slave = pty.openpty()
    process = subprocess.Popen(words, env=environment, stdin=slave, stdout=slave, stderr=slave, **more)
    os.close(slave)
    written = b""
    while True:
        try:
            read = os.read(master, 4096)
        except OSError:  # That is how a terminal's end is told.
            break
        if not read:
            break
        written += read
    os.close(master)
    return process.wait(), written.decode().replace("\r\n", "\n")
