/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ACPI power meter for the guest, read by the kernel's driver acpi_power_meter. Its milliwatts
 * are what is in the scratchpad register of the Q35 host bridge (offset 0xdc of 00:00.0's
 * configuration space), which nothing else uses and a test writes through sysfs, all four bytes at
 * once. All ones: the meter cannot be read.
 */
DefinitionBlock ("", "SSDT", 2, "CEEMS", "PWRMETER", 1)
{
	External (\_SB.PCI0, DeviceObj)

	Scope (\_SB.PCI0)
	{
		Device (CMSP)
		{
			Name (_ADR, Zero)
			OperationRegion (SKPD, PCI_Config, 0xDC, 4)
			Field (SKPD, DWordAcc, NoLock, Preserve) { MLWT, 32 }
		}
	}
	Scope (\_SB)
	{
		Device (CMPM)
		{
			Name (_HID, "ACPI000D")
			Name (_UID, Zero)
			Method (_STA) { Return (0x0F) }
			/* measures only; mW; input power; 100 %; 50 ms; averages over 50 ms to 10 s */
			Name (_PMC, Package (14) {
				1, 0, 0, 100000, 50, 50, 10000, 0, 0, 0, 0, "FAKE-METER", "0001", "CEEMS"
			})
			Method (_PMM) { Return (\_SB.PCI0.CMSP.MLWT) }
			Method (_GAI) { Return (1000) }
			Method (_PAI, 1) { Return (0) }
			Method (_PTP, 2) { Return (0) }
			Name (_PMD, Package () { \_SB })
		}
	}
}
