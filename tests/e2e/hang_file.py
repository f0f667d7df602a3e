#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""hang_file.py FILE: whoever opens FILE waits until killed, or until this process ends, as with a device or a file server
that does not answer. stat(2) and access(2) are answered."""
import ctypes
import os
import signal
import sys

FAN_CLASS_CONTENT, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD = 4, 1, 0x10000, -100
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.fanotify_init(FAN_CLASS_CONTENT, 0)
if fd < 0 or libc.fanotify_mark(fd, FAN_MARK_ADD, ctypes.c_uint64(FAN_OPEN_PERM), AT_FDCWD, sys.argv[1].encode()) < 0:
    sys.exit(f"{sys.argv[1]}: {os.strerror(ctypes.get_errno())}")
print(os.getpid(), flush=True)
signal.pause()  # without an answer, the kernel does not let anybody open FILE
