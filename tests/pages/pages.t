#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pages.t BUILDDIR: the pages of `ceems report` in a headless Chromium, dark and light, on a phone and on a desk: no error,
# no request, nothing wider than the window. AXE=.../axe.min.js (npm axe-core): and no violation of accessibility.
top_srcdir=$(readlink -f "$(dirname "$0")/../..")
. "$top_srcdir/tests/tap/tap.sh"
build=$(readlink -f "${1:?pages.t BUILDDIR}")
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
[ -n "$chromium" ] || skip_all "no chromium"
[ -x "$build/tests/unit/test_summary" ] || skip_all "built without libslurm"
dir=$(mktemp -d "${TMPDIR:-/tmp}/ceems-pages.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT

# wrap PAGE WIDTH: the page in a frame, as a window is never narrower than 500 pixels; it tells its findings in the title.
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

# shown PAGE WIDTH SCHEME: what it found; 0 is dark to Chromium, 1 light
shown() {
	wrap "$1" "$2" >"$dir/frame.html"
	timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --disable-background-networking --user-data-dir="$dir/profile" \
		--window-size=1700,1000 --blink-settings=preferredColorScheme="$3" --virtual-time-budget=20000 \
		--dump-dom "file://$dir/frame.html" 2>/dev/null |
		python3 -c 'import html, re, sys; print(html.unescape(re.search("<title>(.*?)</title>", sys.stdin.read(), re.S).group(1)))'
}

"$build/tests/unit/test_summary" html >"$dir/month.html"
"$build/tests/unit/test_job_page" html >"$dir/job.html"
"$build/tests/unit/test_job_page" evil >"$dir/evil.html"
sed 's|</main>|<img src="http://127.0.0.1:9/x.png" width="3000" alt="">&|' "$dir/month.html" >"$dir/bad.html"

has "$(shown "$dir/bad.html" 360 1)" '"requests":["http://127.0.0.1:9/x.png"]' "a request would be seen"
for page in month job evil; do
	for width in 360 1600; do
		is "$(shown "$dir/$page.html" "$width" 1)" '{"errors":[],"requests":[],"wider":0,"axe":[],"dark":false}' \
			"$page, $width pixels, light"
		is "$(shown "$dir/$page.html" "$width" 0)" '{"errors":[],"requests":[],"wider":0,"axe":[],"dark":true}' \
			"$page, $width pixels, dark"
	done
done
done_testing
