// SPDX-License-Identifier: GPL-2.0-or-later
// The drawing of `ceems flame`. The page's data are [depth, name, this, other] per frame, each behind its parent.
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const graph = document.getElementById("graph"), said = document.getElementById("said");
const search = document.getElementById("search"), turn = document.getElementById("turn"), whole = document.getElementById("whole");
const KINDS = ["user", "kernel", "process", "nameless"];
const ROW = 20, WIDTH_MIN = 1.5;
const root = {name: "all", kind: "process", depth: 0, self: [data.total, data.otherTotal], children: []};
root.at = root;
let zoomed = root, icicle = true, focused = root;

const share = (frame, side) => {
	const total = side ? data.otherTotal : data.total;
	return total > 0 ? frame.self[side] / total : 0;
};
// of two profiles a frame is as wide as the mean of its shares: what is in either is seen
const wide = frame => data.diff ? (share(frame, 0) + share(frame, 1)) / 2 : share(frame, 0);

const path = [root];
for (const [depth, name, here, there] of data.frames) {
	const frame = {name: data.names[name][0], kind: KINDS[data.names[name][1]], depth, self: [here, there || 0], children: []};
	frame.parent = path[depth - 1];
	frame.parent.children.push(frame);
	path[depth] = frame;
}
const place = (frame, x) => {
	frame.x = x;
	frame.width = wide(frame);
	for (const child of frame.children) {
		place(child, x);
		x += child.width;
	}
};
place(root, 0);

const percent = v => (100 * v).toFixed(1) + " %";
const value = v => {
	if (data.unit === "nanoseconds")
		return v < 1e6 ? (v / 1e3).toPrecision(3) + " \u00b5s" : v < 1e9 ? (v / 1e6).toPrecision(3) + " ms" :
			v < 6e10 ? (v / 1e9).toPrecision(3) + " s" : Math.floor(v / 6e10) + " min " + Math.round(v % 6e10 / 1e9) + " s";
	if (data.unit === "cycles") {
		const power = v < 1000 ? 0 : Math.min(6, Math.floor(Math.log10(v) / 3));
		return (v / 1000 ** power).toFixed(power ? 2 : 0) + ["", " k", " M", " G", " T", " P", " E"][power];
	}
	return data.unit === "joules" ? Number(v.toPrecision(3)) + " J" : Math.round(v) + " " + data.unit;
};
const words = frame => {
	const mark = frame.kind === "kernel" ? " (kernel)" : frame.kind === "process" && frame !== root ? " (process)" : "";
	let text = frame.name + mark + ": " + value(frame.self[0]) + ", " + percent(share(frame, 0));
	if (data.diff)
		text += "; in " + data.other + " " + percent(share(frame, 1));
	return text;
};
const colour = frame => {
	if (data.diff) {
		const change = share(frame, 0) - share(frame, 1), size = Math.abs(change);
		return size < 0.001 ? "same" : (change > 0 ? "more" : "less") + (size > 0.1 ? 3 : size > 0.02 ? 2 : 1);
	}
	if (frame.kind !== "user")
		return frame.kind;
	let hash = 0;
	for (const c of frame.name)
		hash = hash * 31 + c.codePointAt(0) >>> 0;
	return "u" + hash % 4;
};
const matches = frame => search.value && frame.name.toLowerCase().includes(search.value.toLowerCase());

const say = frame => {
	said.textContent = words(frame);
};
const zoom = frame => {
	zoomed = focused = frame;
	draw();
	frame.button.focus({preventScroll: true});
	say(frame);
};
const button = (frame, left, width, rows) => {
	const b = document.createElement("button");
	b.type = "button";
	b.className = colour(frame);
	if (search.value)
		b.classList.add(matches(frame) ? "hit" : "dim");
	b.style.left = 100 * left + "%";
	b.style.width = 100 * width + "%";
	b.style.top = (icicle ? frame.depth : rows - 1 - frame.depth) * ROW + "px";
	b.tabIndex = frame === focused ? 0 : -1;
	const narrow = width * graph.clientWidth < 25;
	b.classList.toggle("thin", narrow);
	b.textContent = narrow ? "" : frame.name;
	b.setAttribute("aria-label", words(frame));
	b.title = words(frame);
	b.onclick = () => zoom(frame === zoomed && frame.parent ? frame.parent : frame);
	b.onmouseenter = b.onfocus = () => say(frame);
	frame.button = b;
	graph.append(b);
};
const draw = () => {
	const shown = [];
	const visit = frame => {
		const width = frame.width / zoomed.width;
		if (width * graph.clientWidth < WIDTH_MIN)
			return;
		shown.push([frame, (frame.x - zoomed.x) / zoomed.width, width]);
		frame.children.forEach(visit);
	};
	for (let up = zoomed.parent; up; up = up.parent)
		shown.push([up, 0, 1]);
	visit(zoomed);
	const rows = 1 + shown.reduce((most, [frame]) => Math.max(most, frame.depth), 0);
	graph.replaceChildren();
	if (!shown.some(([frame]) => frame === focused))
		focused = zoomed;
	graph.style.height = rows * ROW + "px";
	shown.forEach(([frame, left, width]) => button(frame, left, width, rows));
	whole.disabled = zoomed === root;
};
// the share of what matches; a match below a match is in it already
const found = frame => matches(frame) ? frame.width : frame.children.reduce((sum, child) => sum + found(child), 0);
const look = () => {
	draw();
	said.textContent = search.value ? percent(found(root)) + " in functions with \u201c" + search.value + "\u201d" : "";
};

const shownChild = frame => frame.children.filter(c => c.button && c.button.isConnected).sort((a, b) => b.width - a.width)[0];
const beside = (frame, step) => {
	const row = [...graph.children].filter(b => b.style.top === frame.button.style.top)
		.sort((a, b) => parseFloat(a.style.left) - parseFloat(b.style.left));
	return row[row.indexOf(frame.button) + step];
};
graph.addEventListener("keydown", event => {
	const inward = icicle ? "ArrowDown" : "ArrowUp", outward = icicle ? "ArrowUp" : "ArrowDown";
	let next;
	if (event.key === inward)
		next = (shownChild(focused) || {}).button;
	else if (event.key === outward)
		next = (focused.parent || {}).button;
	else if (event.key === "ArrowLeft" || event.key === "ArrowRight")
		next = beside(focused, event.key === "ArrowLeft" ? -1 : 1);
	else if (event.key === "Home")
		next = root.button;
	else
		return;
	event.preventDefault();
	if (next)
		next.focus();
});
graph.addEventListener("focusin", event => {
	const visit = frame => frame.button === event.target ? frame : frame.children.reduce((hit, c) => hit || visit(c), null);
	focused.button.tabIndex = -1;
	focused = visit(root);
	focused.button.tabIndex = 0;
});
document.addEventListener("keydown", event => {
	if (event.target === search && event.key === "Escape") {
		search.value = "";
		look();
	} else if (event.target !== search && event.key === "Escape" && zoomed !== root) {
		zoom(root);
	} else if (event.target !== search && event.key === "/") {
		event.preventDefault();
		search.focus();
	}
});
search.addEventListener("input", look);
whole.addEventListener("click", () => zoom(root));
turn.addEventListener("click", () => {
	icicle = !icicle;
	turn.textContent = icicle ? "Show as flames" : "Show as icicles";
	draw();
});
for (const b of document.querySelectorAll("button[data-name]"))
	b.addEventListener("click", () => {
		search.value = b.textContent;
		look();
		graph.scrollIntoView({block: "nearest"});
	});
addEventListener("resize", draw);
draw();
})();
