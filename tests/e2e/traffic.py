#!/usr/bin/python3 -ISE
# SPDX-License-Identifier: GPL-2.0-or-later
"""traffic.py TCP_BYTES: sends them to itself over loopback, half by IPv4 and half by IPv6, and two bytes
back on each of the two connections.
"""
import socket
import sys
import threading


def serve(listener):
    peer, _ = listener.accept()
    while peer.recv(65536):
        pass
    peer.sendall(b"ok")
    peer.close()


def tcp(family, address, size):
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind((address, 0))
    listener.listen(1)
    server = threading.Thread(target=serve, args=(listener,))
    server.start()
    client = socket.socket(family, socket.SOCK_STREAM)
    client.connect(listener.getsockname()[:2])
    client.sendall(bytes(size))
    client.shutdown(socket.SHUT_WR)
    while client.recv(16):
        pass
    server.join()
    client.close()
    listener.close()


tcp_bytes = int(sys.argv[1])
tcp(socket.AF_INET, "127.0.0.1", tcp_bytes // 2)
tcp(socket.AF_INET6, "::1", tcp_bytes - tcp_bytes // 2)
