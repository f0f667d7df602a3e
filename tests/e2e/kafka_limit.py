#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""kafka_limit.py HOST:PORT TOPIC [BYTES]: sets max.message.bytes of the topic; without BYTES the broker's default
applies again. Sends one IncrementalAlterConfigs request, version 0. Kafka's own command would start a JVM, which
takes seconds on both cores."""
import socket
import struct
import sys

INCREMENTAL_ALTER_CONFIGS = 44
TOPIC, SET, DELETE = 2, 0, 1


def string(text):
    return struct.pack(">h", -1) if text is None else struct.pack(">h", len(text)) + text.encode("ascii")


def receive(sock, count):
    got = b""
    while len(got) < count:
        piece = sock.recv(count - len(got))
        if not piece:
            sys.exit("the broker closed the connection")
        got += piece
    return got


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    limit = sys.argv[3] if len(sys.argv) > 3 else None
    request = struct.pack(">hhi", INCREMENTAL_ALTER_CONFIGS, 0, 1) + string("kafka_limit")
    request += struct.pack(">ib", 1, TOPIC) + string(sys.argv[2])
    request += struct.pack(">i", 1) + string("max.message.bytes")
    request += struct.pack(">b", DELETE if limit is None else SET) + string(limit)
    request += struct.pack(">b", 0)  # not only validated
    with socket.create_connection((host, int(port)), timeout=10) as sock:
        sock.sendall(struct.pack(">i", len(request)) + request)
        answer = receive(sock, struct.unpack(">i", receive(sock, 4))[0])
    # correlation id, throttle time, number of answers; of the first one the error
    error = struct.unpack(">h", answer[12:14])[0]
    if error:
        sys.exit(f"the broker answers with error {error}")


main()
