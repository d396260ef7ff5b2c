"""The command line: parses, calls, shows progress; no logic."""

from sdi.cli.app import main

__all__ = ["main"]
