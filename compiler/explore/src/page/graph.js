"use strict";
// Draws a graph as SVG, in layers with operands above their users.

const NODE = { height: 24, gapX: 14, gapY: 34, pad: 18 };

function layers(nodes) {
  const rank = [];
  nodes.forEach((node, at) => { rank[at] = node.from.length ? Math.max(...node.from.map((from) => rank[from])) + 1 : 0; });
  // A node without operands is placed directly above its first user.
  const users = nodes.map(() => []);
  nodes.forEach((node, at) => node.from.forEach((from) => users[from].push(at)));
  nodes.forEach((node, at) => {
    if (node.from.length === 0 && users[at].length) rank[at] = Math.min(...users[at].map((user) => rank[user])) - 1;
  });
  const rows = [];
  nodes.forEach((_, at) => (rows[rank[at]] ??= []).push(at));
  return Array.from(rows, (row) => row ?? []);
}

// An edge over several layers passes through bends, which are ordered like narrow nodes.
function withBends(nodes) {
  const rows = layers(nodes);
  const rank = [];
  rows.forEach((row, layer) => row.forEach((at) => { rank[at] = layer; }));
  const above = nodes.map(() => []);
  const below = nodes.map(() => []);
  const paths = [];
  nodes.forEach((node, at) => [...new Set(node.from)].forEach((from) => {
    const path = [from];
    for (let layer = rank[from] + 1; layer < rank[at]; layer += 1) {
      const bend = above.length;
      above.push([]);
      below.push([]);
      rows[layer].push(bend);
      path.push(bend);
    }
    path.push(at);
    path.slice(1).forEach((to, i) => { above[to].push(path[i]); below[path[i]].push(to); });
    paths.push(path);
  }));
  const width = above.map((_, at) => (at < nodes.length ? Math.max(44, nodes[at].name.length * 6.8 + 20) : 6));
  return { rows, above, below, width, paths };
}

// Orders each row by the mean position of the neighbours, in sweeps down and up. The final positions follow the same means.
function place(nodes) {
  const { rows, above, below, width, paths } = withBends(nodes);
  const x = [];
  const middle = (list, own) => (list.length ? list.reduce((sum, at) => sum + x[at], 0) / list.length : own);
  const distance = (a, b) => (width[a] + width[b]) / 2 + NODE.gapX;
  for (const row of rows) row.forEach((at, i) => { x[at] = i ? x[row[i - 1]] + distance(row[i - 1], at) : 0; });
  const settle = (row, neighbours) => {
    const wanted = new Map(row.map((at) => [at, middle(neighbours(at), x[at])]));
    row.sort((a, b) => wanted.get(a) - wanted.get(b));
    // As close to the wanted position as the neighbours in the row allow: the mean of pushing right and pushing left.
    const right = [];
    const left = [];
    row.forEach((at, i) => { right[i] = i ? Math.max(wanted.get(at), right[i - 1] + distance(row[i - 1], at)) : wanted.get(at); });
    for (let i = row.length - 1; i >= 0; i -= 1) {
      const at = row[i];
      left[i] = i < row.length - 1 ? Math.min(wanted.get(at), left[i + 1] - distance(at, row[i + 1])) : wanted.get(at);
    }
    row.forEach((at, i) => { x[at] = (left[i] + right[i]) / 2; });
  };
  for (let sweep = 0; sweep < 16; sweep += 1) {
    rows.forEach((row) => settle(row, (at) => above[at]));
    [...rows].reverse().forEach((row) => settle(row, (at) => below[at]));
  }
  rows.forEach((row) => settle(row, (at) => [...above[at], ...below[at]]));
  const y = [];
  rows.forEach((row, layer) => row.forEach((at) => { y[at] = layer * (NODE.height + NODE.gapY); }));
  return { x, y, width, paths, depth: rows.length };
}

// Draws a curve from the bottom of a node through bends to the top of another, vertical at each of these points.
function curve(path, x, y) {
  const points = path.map((at, i) => [x[at], i === 0 ? y[at] + NODE.height : y[at]]);
  let d = `M${points[0].join(" ")}`;
  for (let i = 1; i < points.length; i += 1) {
    const [[x1, y1], [x2, y2]] = [points[i - 1], points[i]];
    const pull = (y2 - y1) / 2;
    d += `C${x1} ${y1 + pull} ${x2} ${y2 - pull} ${x2} ${y2}`;
    if (i < points.length - 1) {
      points[i] = [x2, y2 + NODE.height];
      d += `L${x2} ${y2 + NODE.height}`;
    }
  }
  return d;
}

function drawGraph(container, graph, title) {
  const { nodes } = graph;
  const { x, y, width, paths, depth } = place(nodes);
  const left = Math.min(...x.map((at, i) => at - width[i] / 2)) - NODE.pad;
  const right = Math.max(...x.map((at, i) => at + width[i] / 2)) + NODE.pad;
  const wide = right - left;
  const high = depth * (NODE.height + NODE.gapY) - NODE.gapY + 2 * NODE.pad;
  const svg = shape("svg", { viewBox: `${left} ${-NODE.pad} ${wide} ${high}`, role: "img", "aria-label": title });
  svg.style.width = `${wide}px`;
  svg.style.maxWidth = wide > 900 ? "none" : "100%";
  const isHot = (path) => nodes[path[0]].gradient && nodes[path[path.length - 1]].gradient;
  for (const path of [...paths].sort((a, b) => isHot(a) - isHot(b))) {
    const hot = isHot(path);
    svg.append(shape("path", {
      d: curve(path, x, y), fill: "none", stroke: hot ? "var(--heat-line)" : "var(--node-line)", "stroke-width": hot ? 1.8 : 1.1, opacity: hot ? 0.9 : 0.65,
    }));
  }
  nodes.forEach((node, at) => svg.append(drawNode(node, x[at], y[at], width[at])));
  container.replaceChildren(svg);
  container.scrollLeft = (container.scrollWidth - container.clientWidth) / 2;
}

function drawNode(node, x, y, width) {
  const group = shape("g");
  const state = node.kind === "state";
  const fill = state ? "var(--state)" : node.gradient ? "var(--heat)" : "var(--node)";
  const stroke = state ? "var(--state)" : node.gradient ? "var(--heat-line)" : "var(--node-line)";
  const radius = node.kind === "input" || state ? NODE.height / 2 : 6;
  const card = (shift, extra = {}) => shape("rect", {
    x: x - width / 2 + shift, y: y - shift, width, height: NODE.height, rx: radius, fill, stroke, "stroke-width": 1.3, ...extra,
  });
  if (node.drawn) group.append(card(6, { opacity: 0.55 }), card(3, { opacity: 0.8 }));
  group.append(card(0));
  if (node.kind === "result") group.append(card(0, { fill: "none", "stroke-width": 3.2 }));
  const label = shape("text", { x, y: y + 16 }, node.name);
  if (state) label.setAttribute("style", "fill:var(--state-ink)");
  group.append(label, shape("title", {}, `${node.name}: ${node.type}${node.gradient ? ", with gradient" : ""}`));
  return group;
}
