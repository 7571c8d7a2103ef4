"use strict";
// Draws charts as SVG.

const SVG = "http://www.w3.org/2000/svg";

function shape(tag, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
}

const superscript = (n) => String(n).replace(/-/g, "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);

function brief(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(2).replace("e+", "e");
  return String(Number(value.toPrecision(4)));
}

function duration(seconds) {
  if (!(seconds > 0)) return "–";
  if (seconds < 1e-3) return `${Number((seconds * 1e6).toPrecision(3))} µs`;
  return seconds < 1 ? `${Number((seconds * 1e3).toPrecision(3))} ms` : `${Number(seconds.toPrecision(3))} s`;
}

// Returns round steps for a linear axis.
function linearTicks(low, high, wanted) {
  const raw = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) => step >= raw) ?? raw;
  const ticks = [];
  for (let at = Math.ceil(low / step); at * step <= high + 1e-9 * step; at += 1) ticks.push(Number((at * step).toPrecision(12)));
  return ticks;
}

function logTicks(low, high) {
  const from = Math.ceil(Math.log10(low) - 1e-9);
  const to = Math.floor(Math.log10(high) + 1e-9);
  const step = Math.max(1, Math.ceil((to - from) / 7));
  const ticks = [];
  for (let power = from; power <= to; power += step) ticks.push(10 ** power);
  return ticks;
}

class Scale {
  constructor(low, high, from, to, isLog) {
    Object.assign(this, { low, high, from, to, isLog });
  }
  at(value) {
    const f = this.isLog ? Math.log : (x) => x;
    return this.from + ((f(value) - f(this.low)) / (f(this.high) - f(this.low))) * (this.to - this.from);
  }
}

// A chart with room for axes. Its options are { width, height, x: [low, high], y: [low, high], logX, logY, labelX, tickX, tickY, describe }.
class Chart {
  constructor(place, options) {
    const { width = 560, height = 300, left = 62, right = 14, top = 10, bottom = 40 } = options;
    this.svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": options.describe });
    this.box = { left, right: width - right, top, bottom: height - bottom };
    this.x = new Scale(...options.x, left, width - right, options.logX);
    this.y = new Scale(...options.y, height - bottom, top, options.logY);
    this.axes(options);
    place.replaceChildren(this.svg);
  }

  axes({ logX, logY, x, y, tickX, tickY, labelX, bareY }) {
    const { left, right, bottom } = this.box;
    const ticksX = tickX ?? (logX ? logTicks(...x) : linearTicks(...x, 6));
    const ticksY = logY ? logTicks(...y) : linearTicks(...y, 5);
    const show = tickY ?? ((value) => (logY ? `10${superscript(Math.round(Math.log10(value)))}` : brief(value)));
    if (!bareY) {
      for (const value of ticksY) {
        const at = this.y.at(value);
        this.add("line", { x1: left, x2: right, y1: at, y2: at, stroke: "var(--grid)" });
        this.add("text", { x: left - 8, y: at + 4, "text-anchor": "end" }, show(value));
      }
    }
    for (const value of ticksX) {
      const at = this.x.at(value);
      this.add("line", { x1: at, x2: at, y1: bottom, y2: bottom + 4, stroke: "var(--node-line)" });
      this.add("text", { x: at, y: bottom + 17, "text-anchor": "middle" }, logX ? value.toLocaleString("en") : brief(value));
    }
    this.add("line", { x1: left, x2: right, y1: bottom, y2: bottom, stroke: "var(--node-line)" });
    this.add("text", { x: (left + right) / 2, y: bottom + 35, "text-anchor": "middle" }, labelX);
  }

  add(tag, attributes, text = null) {
    const made = shape(tag, attributes, text);
    this.svg.append(made);
    return made;
  }

  path(points, attributes) {
    const inside = points.filter(([x, y]) => Number.isFinite(this.x.at(x)) && Number.isFinite(this.y.at(y)));
    if (inside.length === 0) return;
    const d = inside.map(([x, y], at) => `${at ? "L" : "M"}${this.x.at(x).toFixed(2)} ${this.y.at(y).toFixed(2)}`).join("");
    this.add("path", { d, fill: "none", "stroke-width": 2, "stroke-linejoin": "round", ...attributes });
  }

  area(upper, lower, colour, opacity) {
    const clamp = (y) => Math.min(Math.max(this.y.at(y), this.box.top), this.box.bottom);
    const points = [...upper, ...[...lower].reverse()];
    if (points.length < 3) return;
    const d = points.map(([x, y], at) => `${at ? "L" : "M"}${this.x.at(x).toFixed(2)} ${clamp(y).toFixed(2)}`).join("");
    this.add("path", { d: `${d}Z`, fill: colour, opacity });
  }

  mark(kind, x, y, colour, title) {
    const size = 4.2;
    const made = kind === "circle"
      ? shape("circle", { cx: x, cy: y, r: size })
      : shape("rect", { x: x - size, y: y - size, width: 2 * size, height: 2 * size, rx: 1, ...(kind === "diamond" ? { transform: `rotate(45 ${x} ${y}) ` } : {}) });
    made.setAttribute("fill", colour);
    made.setAttribute("stroke", "var(--card)");
    made.setAttribute("stroke-width", "1.2");
    made.append(shape("title", {}, title));
    this.svg.append(made);
  }
}
