#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""hang_mount.py DIR: mounts a file system at DIR that answers nothing, as one whose server is gone. Whoever looks into
it waits until killed, or until this process ends."""
import ctypes
import os
import signal
import sys

fuse = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = f"fd={fuse},rootmode=41777,user_id=0,group_id=0,allow_other"
if libc.mount(b"hang", sys.argv[1].encode(), b"fuse", 0, options.encode()) < 0:
    sys.exit(f"{sys.argv[1]}: {os.strerror(ctypes.get_errno())}")
print("mounted", flush=True)
signal.pause()
