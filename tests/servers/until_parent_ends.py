"""Runs a command that the kernel kills when the process that started it ends, however it ends.

``python until_parent_ends.py PARENT COMMAND...`` becomes the command itself. Only Linux has this; elsewhere the command
runs until somebody stops it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the call
            sys.exit(1)
    os.execvp(command[0], command)
