#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pages.t BUILDDIR: opens the pages of `ceems report` and `ceems flame` in headless Chromium, dark and light, on a phone's
# and a desktop's width. There must be no error, no request, and nothing wider than the window. With AXE=.../axe.min.js (npm
# axe-core), no accessibility rule may be violated either.
top_srcdir=$(readlink -f "$(dirname "$0")/../..")
. "$top_srcdir/tests/tap/tap.sh"
build=$(readlink -f "${1:?pages.t BUILDDIR}")
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
[ -n "$chromium" ] || skip_all "no chromium"
[ -x "$build/tests/unit/test_summary" ] || skip_all "built without libslurm"
dir=$(mktemp -d "${TMPDIR:-/tmp}/ceems-pages.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT

# wrap PAGE WIDTH: puts the page into a frame, since Chromium's window is never narrower than 500 pixels. The outer page
# writes its findings to its title.
wrap() {
	python3 - "$1" "$2" "${AXE:-}" <<'EOT'
import html, sys
page, width, axe = sys.argv[1:]
text = open(page, encoding="utf-8").read()
script = "window.errors=[];addEventListener('error',e=>errors.push(e.message),true);" \
         "addEventListener('securitypolicyviolation',e=>errors.push(e.blockedURI));"
end = """addEventListener('load',async()=>{
const said={errors,requests:performance.getEntriesByType('resource').map(e=>e.name).filter(n=>!n.startsWith('data:')),
wider:Math.max(0,document.documentElement.scrollWidth-innerWidth),
axe:window.axe?(await axe.run()).violations.map(v=>v.id+' '+v.nodes[0].html):[],dark:matchMedia('(prefers-color-scheme:dark)').matches};
parent.document.title=JSON.stringify(said);});"""
if axe:
    end = open(axe, encoding="utf-8").read().replace("</script", "<\\/script") + end
text = text.replace("<head>", "<head><script>" + script + "</script>", 1).replace("</body>", "<script>" + end + "</script></body>")
print("<!DOCTYPE html><title>nothing was said</title><body style=margin:0><iframe style=border:0 height=900 width=%s srcdoc=\"%s\">"
      "</iframe>" % (width, html.escape(text)))
EOT
}

# shown PAGE WIDTH SCHEME: prints the findings; SCHEME is 0 for dark, 1 for light, as Chromium has it
shown() {
	wrap "$1" "$2" >"$dir/frame.html"
	timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --disable-background-networking --user-data-dir="$dir/profile" \
		--window-size=1700,1000 --blink-settings=preferredColorScheme="$3" --virtual-time-budget=20000 \
		--dump-dom "file://$dir/frame.html" 2>/dev/null |
		python3 -c 'import html, re, sys; print(html.unescape(re.search("<title>(.*?)</title>", sys.stdin.read(), re.S).group(1)))'
}

"$build/tests/unit/test_summary" html >"$dir/month.html"
"$build/tests/unit/test_summary" html place >"$dir/own.html"
"$build/tests/unit/test_job_page" html >"$dir/job.html"
"$build/tests/unit/test_job_page" evil >"$dir/evil.html"
pages="month own job evil"
if [ -x "$build/tests/cmd/make_profile" ]; then
	stacks='60 0 app app whole main;solve;dgemm\n20 0 app io cut main;k:copy\n1 0 </script> app whole "&<b>;</script><b>\n'
	: >"$dir/empty.conf"
	# shellcheck disable=SC2059 # lines on purpose
	printf "$stacks" | "$build/tests/cmd/make_profile" 7 0 n1 1000 >"$dir/new.pb.gz"
	echo "40 0 app app whole main;solve;exchange" | "$build/tests/cmd/make_profile" 6 0 n1 1000 >"$dir/old.pb.gz"
	"$build/src/cmd/ceems" flame --conf "$dir/empty.conf" "$dir/new.pb.gz" -o "$dir/flame.html"
	"$build/src/cmd/ceems" flame --conf "$dir/empty.conf" "$dir/new.pb.gz" --diff "$dir/old.pb.gz" -o "$dir/change.html"
	pages="$pages flame change"
fi
sed 's|</main>|<img src="http://127.0.0.1:9/x.png" width="3000" alt="">&|' "$dir/month.html" >"$dir/bad.html"

has "$(shown "$dir/bad.html" 360 1)" '"requests":["http://127.0.0.1:9/x.png"]' "a request would be seen"
for page in $pages; do
	for width in 360 1600; do
		is "$(shown "$dir/$page.html" "$width" 1)" '{"errors":[],"requests":[],"wider":0,"axe":[],"dark":false}' \
			"$page, $width pixels, light"
		is "$(shown "$dir/$page.html" "$width" 0)" '{"errors":[],"requests":[],"wider":0,"axe":[],"dark":true}' \
			"$page, $width pixels, dark"
	done
done

# used PAGE SCRIPT: runs SCRIPT in the page; prints what it returns
used() {
	python3 - "$1" "$2" >"$dir/used.html" <<'EOT'
import sys
text = open(sys.argv[1], encoding="utf-8").read()
script = """<script>addEventListener('load',()=>{const frame=n=>[...document.querySelectorAll('#graph button')].find(b=>b.title.startsWith(n));
const key=k=>document.activeElement.dispatchEvent(new KeyboardEvent('keydown',{key:k,bubbles:true,cancelable:true}));
const wide=b=>Math.round(parseFloat(b.style.width)),said=()=>document.getElementById('said').textContent;
document.title='said '+(()=>{%s})()})</script>""" % sys.argv[2]
print(text.replace("</body>", script + "</body>"))
EOT
	timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --disable-background-networking --user-data-dir="$dir/profile" \
		--window-size=1200,1000 --virtual-time-budget=20000 --dump-dom "file://$dir/used.html" 2>/dev/null |
		sed -n 's/.*<title>said \(.*\)<\/title>.*/\1/p'
}
if [ -e "$dir/flame.html" ]; then
	is "$(used "$dir/flame.html" 'const before=wide(frame("main:"));frame("main:").click();return [before,wide(frame("main:")),wide(frame("all:")),said()].join()')" \
		"99,100,100,main: 800 ms, 98.8 %" "a click on a function zooms"
	is "$(used "$dir/flame.html" 'frame("solve:").click();key("Escape");return [wide(frame("solve:")),wide(frame("main:"))].join()')" \
		"74,99" "Esc shows the whole again"
	is "$(used "$dir/flame.html" 'frame("all:").focus();for(const k of ["ArrowDown","ArrowDown","ArrowDown","ArrowLeft"])key(k);return document.activeElement.title')" \
		"copy (kernel): 200 ms, 24.7 %" "arrows move"
	# shellcheck disable=SC1111 # the page has these quotes
	is "$(used "$dir/flame.html" 'key("/");const s=document.activeElement;s.value="GEMM";s.dispatchEvent(new Event("input"));return [s.id,said(),document.querySelectorAll("#graph .hit").length].join()')" \
		"search,74.1 % in functions with “GEMM”,1" "/ searches, and the share of what is found is told"
	is "$(used "$dir/flame.html" 'const y=()=>parseFloat(frame("all:").style.top);const a=y();document.getElementById("turn").click();return [a,y(),document.getElementById("turn").textContent].join()')" \
		"0,80,Show as icicles" "flames have their root below"
	is "$(used "$dir/change.html" 'return [frame("dgemm:").className,frame("exchange:").className,frame("exchange:").title].join()')" \
		"more3,less3,exchange: 0.00 µs, 0.0 %; in profile on n1 100.0 %" "a difference has its colours"
fi
done_testing
