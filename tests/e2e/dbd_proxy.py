#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""dbd_proxy.py LISTEN_PORT PORT MODE_FILE: between a client of slurmdbd and slurmdbd, on 127.0.0.1.

The first line of MODE_FILE says what happens to the bytes of an answer, and is read again for each piece:
  pass          nothing
  delay SECONDS each piece comes so much later
  rate BYTES    so many a second: a small answer comes in time, a long one does not
  stall         none comes any more
  cut BYTES     the connection is closed behind so many
  refuse        the connection is closed at once
"""
import socket
import sys
import threading
import time

PIECE = 4096


def mode_of(path):
    try:
        with open(path, encoding="ascii") as f:
            words = f.readline().split()
    except OSError:
        words = []
    return (words[0] if words else "pass", float(words[1]) if len(words) > 1 else 0.0)


def close(*socks):
    for s in socks:
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def questions(client, server):
    try:
        while piece := client.recv(PIECE):
            server.sendall(piece)
    except OSError:
        pass
    close(client, server)


def answers(client, server, path):
    told = 0
    try:
        while piece := server.recv(PIECE):
            mode, n = mode_of(path)
            while mode == "stall":
                time.sleep(0.1)
                mode, n = mode_of(path)
            if mode == "delay":
                time.sleep(n)
            elif mode == "rate":
                time.sleep(len(piece) / n)
            elif mode == "cut" and told + len(piece) > n:
                client.sendall(piece[:max(0, int(n) - told)])
                break
            elif mode == "refuse":
                break
            client.sendall(piece)
            told += len(piece)
    except OSError:
        pass
    close(client, server)


def main():
    listen_port, port, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    listener = socket.create_server(("127.0.0.1", listen_port))
    while True:
        client, _ = listener.accept()
        if mode_of(path)[0] == "refuse":
            client.close()
            continue
        try:
            server = socket.create_connection(("127.0.0.1", port))
        except OSError:
            client.close()
            continue
        threading.Thread(target=questions, args=(client, server), daemon=True).start()
        threading.Thread(target=answers, args=(client, server, path), daemon=True).start()


main()
