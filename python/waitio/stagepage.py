# SPDX-License-Identifier: BSD-3-Clause
"""The page of `waitio stage watch`: one file, nothing from anywhere else.

It asks for the state below its own address. Names that come from the stream are shown as text,
never as HTML.
"""

from __future__ import annotations

from waitio.plotstyle import BLUE, ORANGE

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>WaitIO</title>
<style>
  body { font: 15px sans-serif; margin: 1.2em auto; max-width: 60em; padding: 0 1em; color: #222; }
  h1 { font-size: 1.2em; margin: 0 0 .5em; }
  canvas { width: 100%; display: block; }
  #field { image-rendering: pixelated; background: #eee; max-height: 70vh; object-fit: contain; }
  #bar { height: 14px; }
  .ends { display: flex; justify-content: space-between; margin: .2em 0 1.2em; }
  #note { color: #a33a00; min-height: 1.2em; }
  table { border-collapse: collapse; margin-top: 1em; }
  td { padding: .1em 1.2em .1em 0; }
  select { font: inherit; }
</style>
</head>
<body>
<h1>stream <span id="stream"></span>, step <span id="step">-</span></h1>
<p><select id="names"></select> <span id="about"></span></p>
<canvas id="field" width="1" height="1"></canvas>
<canvas id="bar" width="255" height="1"></canvas>
<div class="ends"><span id="low"></span><span id="high"></span></div>
<div id="title"></div>
<canvas id="curve" width="960" height="220"></canvas>
<div id="note"></div>
<table id="values"></table>
<script>
"use strict";
const $ = id => document.getElementById(id);
let chosen = "", drawn = "", after = "", listed = "";

// From dark blue by grey to yellow: also told apart by the colour-blind.
const ANCHORS = [[0, 32, 76], [66, 78, 108], [124, 123, 120], [188, 175, 111], [255, 233, 69]];
function colour(v) {
  if (v === 255) return [255, 255, 255];
  const at = Math.min(3.9999, v / 254 * 4), i = Math.floor(at), f = at - i;
  return ANCHORS[i].map((a, k) => a + (ANCHORS[i + 1][k] - a) * f);
}
function short(v) { return v === null || v === undefined ? "" : Number(v).toPrecision(5) / 1 + ""; }

function paint(p) {
  const raw = atob(p.data), field = $("field");
  if (p.height === 1) { line(field, raw); return; }
  field.width = p.width; field.height = p.height;
  const pen = field.getContext("2d"), image = pen.createImageData(p.width, p.height);
  for (let y = 0; y < p.height; y++)
    for (let x = 0; x < p.width; x++) {
      // The first row stands below, as on a map.
      const c = colour(raw.charCodeAt((p.height - 1 - y) * p.width + x));
      const to = 4 * (y * p.width + x);
      image.data[to] = c[0]; image.data[to + 1] = c[1]; image.data[to + 2] = c[2];
      image.data[to + 3] = 255;
    }
  pen.putImageData(image, 0, 0);
}
function line(field, raw) {
  field.width = 960; field.height = 300;
  const pen = field.getContext("2d");
  pen.strokeStyle = "BLUE"; pen.lineWidth = 2; pen.beginPath();
  for (let i = 0; i < raw.length; i++) {
    const v = raw.charCodeAt(i), x = 950 * i / Math.max(1, raw.length - 1) + 5;
    if (v !== 255) pen.lineTo(x, 290 - v / 254 * 280);
  }
  pen.stroke();
}
function bar() {
  const pen = $("bar").getContext("2d"), image = pen.createImageData(255, 1);
  for (let v = 0; v < 255; v++) image.data.set([...colour(v), 255], 4 * v);
  pen.putImageData(image, 0, 0);
}
function curve(points, same) {
  const canvas = $("curve"), pen = canvas.getContext("2d"), w = canvas.width, h = canvas.height;
  pen.clearRect(0, 0, w, h);
  if (points.length < 1) return;
  const low = Math.min(...points.map(p => p[1])), high = Math.max(...points.map(p => p[2]));
  const first = points[0][0], last = Math.max(points[points.length - 1][0], first + 1);
  const X = s => 70 + (w - 80) * (s - first) / (last - first);
  const Y = v => high > low ? h - 24 - (h - 34) * (v - low) / (high - low) : h / 2;
  pen.font = "12px sans-serif"; pen.fillStyle = "#555";
  pen.fillText(short(high), 2, 14); pen.fillText(short(low), 2, h - 22);
  pen.fillText("step " + first, 70, h - 5);
  const end = "" + last; pen.fillText(end, w - 10 - pen.measureText(end).width, h - 5);
  for (const [k, c] of same ? [[1, "BLUE"]] : [[1, "BLUE"], [2, "ORANGE"]]) {
    pen.strokeStyle = c; pen.lineWidth = 1.5; pen.beginPath();
    for (const p of points) pen.lineTo(X(p[0]), Y(p[k]));
    pen.stroke();
    pen.fillStyle = c;
    if (points.length === 1) pen.fillRect(X(first) - 2, Y(points[0][k]) - 2, 4, 4);
  }
}
function list(state) {
  const names = state.variables.filter(
    v => v.kind === "global" || typeof state.values[v.name] === "number");
  const now = JSON.stringify(names.map(v => v.name));
  if (now !== listed) {
    listed = now;
    $("names").replaceChildren(...names.map(v => {
      const option = document.createElement("option");
      option.value = option.textContent = v.name;
      return option;
    }));
  }
  $("names").value = state.variable;
  const rows = Object.entries(state.values).map(([name, value]) => {
    const row = document.createElement("tr");
    for (const text of [name, typeof value === "number" ? short(value) : value]) {
      const cell = document.createElement("td");
      cell.textContent = text;
      row.append(cell);
    }
    return row;
  });
  $("values").replaceChildren(...rows);
}
function show(state) {
  $("stream").textContent = state.stream;
  $("step").textContent = state.step === null ? "-" : state.step;
  document.title = state.stream + " " + (state.step === null ? "" : state.step);
  const idle = state.age > 5 && !state.note ? "no step for " + Math.round(state.age) + " s" : "";
  $("note").textContent = state.note || idle;
  list(state);
  const about = state.variables.find(v => v.name === state.variable) || {shape: [], units: ""};
  const p = state.picture, scalar = about.kind === "scalar";
  $("field").style.display = $("bar").style.display = scalar ? "none" : "block";
  $("about").textContent = about.shape.join(" x ") + (about.units ? ", " + about.units : "")
    + (p && p.at.length ? ", plane at " + p.at.join(", ") : "") + (p ? ", step " + p.step : "");
  $("low").textContent = p && !scalar ? short(p.low) : "";
  $("high").textContent = p && !scalar ? short(p.high) : "";
  $("title").textContent = scalar ? "value over steps"
    : "least and largest value" + (p && !p.whole ? " of this plane" : "") + " over steps";
  if (p && p.data && !scalar) { paint(p); after = p.step; drawn = state.variable; }
  curve(state.curve, scalar);
}
async function ask() {
  const had = drawn === chosen || !chosen ? after : "";
  const words = new URLSearchParams({variable: chosen, after: had});
  try {
    const answer = await fetch("state?" + words, {cache: "no-store"});
    show(await answer.json());
  } catch (error) {
    $("note").textContent = $("note").textContent || "the program that showed the stream has ended";
  }
  setTimeout(ask, 500);
}
$("names").addEventListener("change", () => { chosen = $("names").value; after = ""; drawn = ""; });
bar();
ask();
</script>
</body>
</html>
"""

PAGE = _PAGE.replace("BLUE", BLUE).replace("ORANGE", ORANGE)
