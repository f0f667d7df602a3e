# SPDX-License-Identifier: GPL-2.0-or-later
# page.awk - what the awk files that make manual pages from tables of C share.

# S as text of roff.
function roff(s)
{
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	gsub(/'/, "\\(aq", s)
	return s
}

# The next "text" of REST, which is cut behind it; "": there is none.
function quoted(   s)
{
	if (!match(rest, /"[^"]*"/))
		return ""
	s = substr(rest, RSTART + 1, RLENGTH - 2)
	rest = substr(rest, RSTART + RLENGTH)
	return s
}
