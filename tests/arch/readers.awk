# SPDX-License-Identifier: GPL-2.0-or-later
# readers.awk - prints "KEY: PROGRAMS" for each setting, as the code has it, and with -v rows=1 as settings_rows.h has it:
#
#	awk -f readers.awk settings_rows.h sources members symbols
#
# sources: the C files. members: "FILE:MEMBER" for each member of struct settings that a file mentions. symbols: what
# `nm -A` says of the objects.

function print_all(    i, p, text)
{
	for (i = 1; i <= nkeys; i++) {
		text = ""
		for (p = 1; p <= nprograms; p++)
			if (rows ? index(flags[i], program[p]) : is_read[program[p], member[i]])
				text = text " " program[p]
		print key[i] ":" text
	}
}

# Follows the functions that SOURCE calls. `ceems check` and `ceems gather`, which read all settings, are left out.
function visit(prog, source,    n, f, i)
{
	if ((prog, source) in is_seen || source ~ /^src\/cmd\/(check|gather)\//)
		return
	is_seen[prog, source] = 1
	n = split(mentions[source], f, " ")
	for (i = 1; i <= n; i++)
		is_read[prog, f[i]] = 1
	n = split(calls[source], f, " ")
	for (i = 1; i <= n; i++)
		if (f[i] in home)
			visit(prog, home[f[i]])
}

BEGIN { nprograms = split("SLURMCTLD SLURMD STEP RECORDER COMMANDS", program, " ") }
FNR == 1 { files++ }

files == 1 && /^SETTING\(/ { row = ""; is_row = 1 }
files == 1 && is_row {
	row = row $0
	if (/\)$/) {
		is_row = 0
		split(row, f, ", *")
		key[++nkeys] = substr(f[1], 10, length(f[1]) - 10)
		member[nkeys] = f[3]
		match(row, /BY_[A-Z_| ]*/)
		flags[nkeys] = substr(row, RSTART, RLENGTH)
	}
}
files == 2 { is_source[$0] = 1 }
files == 3 { split($0, f, ":"); mentions[f[1]] = mentions[f[1]] " " f[2] }
files == 4 {
	object = $1
	sub(/:.*/, "", object)
	if (object != last) {
		last = object
		source = object
		sub(/\.libs\//, "", source)
		sub(/\.o$/, ".c", source)
		if (!(source in is_source)) # libtool's or automake's name of the target, and "-"
			sub(/[^\/]*_la-|[^\/-]*-/, "", source)
		if (!(source in is_source))
			source = ""
		sources[source] = 1
	}
	if ($(NF - 1) == "U")
		calls[source] = calls[source] " " $NF
	else if ($(NF - 1) ~ /^[TDRBV]$/ && source != "" && $NF != "main")
		home[$NF] = source
}
END {
	if (rows) {
		print_all()
		exit
	}
	for (source in sources) {
		if (source ~ /^jobcomp\//)
			visit("SLURMCTLD", source)
		if (source ~ /^(acct_gather\/slurmd_side|src\/libnode\/)/)
			visit("SLURMD", source)
		if (source ~ /^(acct_gather\/stepd_side|spank\/)/)
			visit("STEP", source)
		if (source ~ /^recorder\//)
			visit("RECORDER", source)
		if (source ~ /^src\/cmd\//)
			visit("COMMANDS", source)
	}
	print_all()
}
