# SPDX-License-Identifier: GPL-2.0-or-later
# conf_page.awk - ceems.conf(5) from the table of keys and the page with a line "@KEY Name=example@" for each key:
# awk -f page.awk -f conf_page.awk settings.c ceems.conf.5.in. Help and default are the table's; what follows the line is detail.

function add_key(   name, s, help)
{
	name = quoted()
	initial[name] = quoted()
	while ((s = quoted()) != "")
		help = help s
	text[name] = help
}

# A key of the table is one or more lines.
FNR == 1 { files++ }
files == 1 && /^\tKEY\("/ { rest = ""; is_key = 1 }
files == 1 && is_key {
	rest = rest $0
	if (/\),$/) {
		add_key()
		is_key = 0
	}
}
files == 1 { next }

/^@KEY .*@$/ {
	line = substr($0, 6, length($0) - 6)
	name = substr(line, 1, index(line, "=") - 1)
	if (!(name in text)) {
		print FILENAME ":" FNR ": no key " name >"/dev/stderr"
		exit 1
	}
	printf ".TP\n.B %s\n%s\nDefault: %s.\nExample:\n.B %s\n", roff(name), roff(text[name]),
		initial[name] == "" ? "empty" : "\\fB" roff(initial[name]) "\\fP", roff(line)
	after_key = 1
	next
}
# Details are a paragraph of their own.
after_key {
	if (!/^\.(TP|SS|SH|PP|RS)/ && !/^$/)
		print ".IP"
	after_key = 0
}
{ print }
