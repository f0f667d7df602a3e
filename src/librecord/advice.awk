# SPDX-License-Identifier: GPL-2.0-or-later
# advice.awk - writes the lists of rules and facts in ceems-advice.conf(5). Usage, in this order of
# files:
# awk -v part=rules|facts -f src/cmd/page.awk -f advice.awk advice_facts.h advice.def

# Takes the next word off REST, a comma-separated list.
function word(   s)
{
	match(rest, /[A-Za-z_]+/)
	s = substr(rest, RSTART, RLENGTH)
	rest = substr(rest, RSTART + RLENGTH)
	return s
}

function conditions(   text, c, n, a)
{
	while (match(rest, /IF\([^)]*\)/)) {
		c = substr(rest, RSTART + 3, RLENGTH - 4)
		rest = substr(rest, RSTART + RLENGTH)
		n = split(c, a, /, */)
		text = text (text ? ", " : "") fact[a[1]] (a[2] == "BELOW" ? " < " : " > ") sprintf("%.10g", a[3])
	}
	return text
}

function rule(   name, what, type, why, show)
{
	name = quoted()
	word() # severity
	word() # saving
	what = quoted()
	type = quoted()
	why = quoted()
	show = word()
	printf ".TP\n.B %s%s\n\\(lq%s\\(rq: %s. If %s.\n%s\n", roff(name), show == "OFF" ? " \\fR(off)" : "",
		roff(what), roff(type), roff(conditions()), roff(why)
}

/FACT\([A-Z_]+, "/ {
	rest = $0
	match(rest, /\([A-Z_]+/)
	id = substr(rest, RSTART + 1, RLENGTH - 1)
	fact[id] = quoted()
	help = quoted()
	if (part == "facts")
		printf ".TP\n.B %s\n%s.\n", roff(fact[id]), roff(toupper(substr(help, 1, 1)) substr(help, 2))
}

# A rule's text ends at the next rule or at an empty line.
part == "rules" && (/^ADVICE\(/ || /^$/) {
	if (rest_of_rule) {
		rest = rest_of_rule
		rule()
	}
	rest_of_rule = ""
}
part == "rules" && (/^ADVICE\(/ || rest_of_rule) { rest_of_rule = rest_of_rule $0 }
END {
	if (rest_of_rule) {
		rest = rest_of_rule
		rule()
	}
}
