"""The words of the tool as its own --help tells them."""

import re
import subprocess


def help_of(kiln, *verb):
    return subprocess.run([kiln, *verb, "--help"], capture_output=True, text=True, check=True).stdout


def verbs(kiln):
    listing = help_of(kiln).split("Subcommands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listing.splitlines()]


def options(kiln, *verb):
    """The options of a verb, or of the tool itself, each spelling by itself."""
    return {name for line in help_of(kiln, *verb).splitlines()
            if (spelled := re.match(r"\s+((?:-{1,2}[\w-]+,?)+)", line))
            for name in spelled[1].split(",")}
