#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""fakebmc.py SOCKET FOLDER: a small baseboard management controller for QEMU's ipmi-bmc-extern.

The guest's kernel finds a KCS interface and a BMC behind it that has DCMI power readings, two
power sensors in its SDR and an energy counter of IBM's Active Energy Manager. The file FOLDER/bmc,
which is read again for every request, sets its answers with these words:

    watts=250     power, for DCMI, the sensor "Node Power" and the energy counter
    joules=1000   value of the energy counter
    delay=2       answers about power and energy come that many seconds late
    code=c0       or have this completion code instead of data
    mute=1        or do not come at all
    dcmi=off      DCMI is not supported

FOLDER/bmc.asked counts the requests for power and energy. IPMI 2.0 rev. 1.1, DCMI 1.5; the serial protocol
is OpenIPMI's "VM" one: escaped bytes, a checksum, 0xa0 at the end.
"""
import os
import socket
import struct
import sys
import time

APP, SENSOR, STORAGE, CHASSIS, DCMI, OEM = 0x06, 0x04, 0x0A, 0x00, 0x2C, 0x2E
OK = b"\x00"
INVALID_COMMAND, NOT_PRESENT, INVALID_FIELD = b"\xc1", b"\xcb", b"\xcc"
IBM = b"\x4d\x4f\x00"
END, START, ESCAPE = 0xA0, 0xA1, 0xAA


class Bmc:
    def __init__(self, folder):
        self.path = os.path.join(folder, "bmc")
        self.count_path = os.path.join(folder, "bmc.asked")
        self.asked = 0
        self.enables = 0
        self.born = int(time.time())
        self.records = [
            sdr_record(1, b"Node Power", 4),
            sdr_record(2, b"Half Power", 2),
        ]

    def wanted(self):
        words = {"watts": "0", "joules": "0"}
        with open(self.path, encoding="ascii") as f:
            words.update(w.split("=", 1) for w in f.read().split())
        return words

    def answer(self, netfn, cmd, data):
        """Completion code and data; None: silence."""
        if netfn == APP:
            return self.app(cmd, data)
        if netfn == CHASSIS and cmd == 0x01:
            return OK + b"\x21\x10\x40\x54"
        if netfn == STORAGE:
            return self.storage(cmd, data)
        if netfn == SENSOR:
            return self.sensor(cmd, data)
        if netfn == DCMI and data[:1] == b"\xdc":
            return self.dcmi(cmd, data)
        if netfn == OEM and data[:3] == IBM:
            return self.aem(cmd, data)
        return INVALID_COMMAND

    def measured(self, make):
        """Answers a request for power or energy. Only these answers have the faults above."""
        self.asked += 1
        with open(self.count_path + ".new", "w", encoding="ascii") as f:
            f.write(f"{self.asked}\n")
        os.rename(self.count_path + ".new", self.count_path)
        words = self.wanted()
        if "mute" in words:
            return None
        if "delay" in words:
            time.sleep(float(words["delay"]))
        if "code" in words:
            return bytes.fromhex(words["code"])
        return OK + make(words)

    def app(self, cmd, data):
        if cmd == 0x01:  # Get Device ID: IPMI 2.0, has sensors and an SDR, IBM
            return OK + b"\x20\x81\x01\x00\x02\x03" + IBM + b"\x01\x00"
        if cmd == 0x04:  # self test
            return OK + b"\x55\x00"
        if cmd in (0x08, 0x37):  # GUIDs
            return OK + bytes(range(16))
        if cmd == 0x2E:
            self.enables = data[0]
            return OK
        if cmd == 0x2F:
            return OK + bytes([self.enables])
        if cmd == 0x30:  # clear flags
            return OK
        if cmd == 0x31:  # no flags
            return OK + b"\x00"
        if cmd in (0x33, 0x35):  # no message, no event
            return b"\x80"
        if cmd == 0x42:  # the channel is KCS
            return OK + b"\x0f\x0c\x05\x00\xf2\x1b\x00\x00\x00"
        return INVALID_COMMAND

    def storage(self, cmd, data):
        if cmd == 0x20:  # SDR repository info
            return OK + struct.pack("<BHHIIB", 0x51, len(self.records), 0, self.born, 0, 0x02)
        if cmd == 0x22:  # reserve
            return OK + b"\x01\x00"
        if cmd == 0x23:
            _, record, offset, length = struct.unpack("<HHBB", data[:6])
            index = {0: 0, 0xFFFF: len(self.records) - 1}.get(record, record - 1)
            if index >= len(self.records):
                return NOT_PRESENT
            after = index + 2 if index + 1 < len(self.records) else 0xFFFF
            return OK + struct.pack("<H", after) + self.records[index][offset : offset + length]
        if cmd == 0x40:  # SEL info: empty
            return OK + struct.pack("<BHHIIB", 0x51, 0, 0xFFFF, 0, 0, 0x02)
        if cmd == 0x48:  # SEL time
            return OK + struct.pack("<I", int(time.time()))
        return INVALID_COMMAND

    def sensor(self, cmd, data):
        factors = {1: 4, 2: 2}
        if cmd != 0x2D:
            return INVALID_COMMAND
        if data[0] not in factors:
            return NOT_PRESENT

        def reading(words):
            raw = round(float(words["watts"]) / 4)  # the second one's factor makes it a half
            return bytes([min(255, raw), 0xC0, 0xC0, 0x00])

        return self.measured(reading)

    def dcmi(self, cmd, data):
        if self.wanted().get("dcmi") == "off":
            return INVALID_COMMAND
        if cmd == 0x01:  # capabilities: power management
            parameters = {
                1: b"\x00\x01\x03",
                2: bytes(5),
                3: b"\x00\x00",
                4: b"\x20\x00\x01",
                5: b"\x01\x05",
            }
            if data[1] not in parameters:
                return INVALID_FIELD
            return OK + b"\xdc\x01\x05\x02" + parameters[data[1]]
        if cmd == 0x02:

            def power(words):
                w = round(float(words["watts"]))
                now = int(time.time())
                return b"\xdc" + struct.pack("<HHHHIIB", w, w, w, w, now, 1000, 0x40)

            return self.measured(power)
        return INVALID_COMMAND

    def aem(self, cmd, data):
        """ibmaem: version 1, one instance, an energy counter of mJ in element 1, register 0."""
        if cmd == 0x80:
            return OK + IBM + b"\x01"
        if cmd != 0x81 or len(data) < 8:
            return NOT_PRESENT
        _, element, subcommand, register, size = data[3:8]
        if (element, subcommand, register) != (1, 0x82, 0):
            return INVALID_FIELD

        def energy(words):
            return IBM + struct.pack(">Q", round(float(words["joules"]) * 1000))[-size:]

        return self.measured(energy)


def sdr_record(number, name, factor):
    """A full sensor record: an unsigned reading of Watt, times FACTOR."""
    body = bytes([0x20, 0, number, 0x07, 1, 0x7F, 0x40, 0x0B, 0x01]) + bytes(6)
    body += bytes([0x00, 0x06, 0x00, 0x00, factor, 0, 0, 0, 0, 0])
    body += bytes([0, 0, 0, 0, 255, 0]) + bytes(11) + bytes([0xC0 | len(name)]) + name
    return struct.pack("<HBBB", number, 0x51, 0x01, len(body)) + body


def frame(message):
    message += bytes([-sum(message) & 0xFF])
    out = bytearray()
    for byte in message:
        out += bytes([ESCAPE, byte | 0x10]) if byte in (END, START, ESCAPE) else bytes([byte])
    return bytes(out) + bytes([END])


def messages(conn):
    message, escaped = bytearray(), False
    while chunk := conn.recv(4096):
        for byte in chunk:
            if byte == END:
                if len(message) >= 4 and sum(message) & 0xFF == 0:
                    yield bytes(message[:-1])
                message.clear()
            elif byte == START:
                message.clear()
            elif byte == ESCAPE:
                escaped = True
            else:
                message.append(byte & ~0x10 if escaped else byte)
                escaped = False


def main():
    path, folder = sys.argv[1:]
    bmc = Bmc(folder)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)
    while True:
        conn, _ = listener.accept()
        for message in messages(conn):
            sequence, netfn, cmd = message[:3]
            answer = bmc.answer(netfn >> 2, cmd, message[3:])
            if answer is not None:
                conn.sendall(frame(bytes([sequence, netfn | 0x04, cmd]) + answer))


main()
