"use strict";
// The page: sends the question to the server and shows the responses.

const WAYS = [
  { name: "direct", label: "direct mean over draws", colour: "var(--direct)", mark: "circle", fact: "" },
  { name: "sums", label: "rewritten, means of the draws", colour: "var(--sums)", mark: "square", fact: "square" },
  { name: "law", label: "rewritten, means drawn from their distribution", colour: "var(--law)", mark: "diamond", fact: "diamond" },
];

let offered = null;
let current = null;
let running = null;
let timer = 0;
let picked = null;

async function ask(path, query, signal) {
  const response = await fetch(`${path}?${new URLSearchParams(query)}`, { signal });
  const text = await response.text();
  if (!response.ok) throw new Error(text.trim());
  return JSON.parse(text);
}

const state = () => ({
  q: offered.posterior.text(), p: offered.prior.text(), n: byId("n").value, m: byId("m").value, r: byId("r").value,
  taylor: byId("taylor").value, seed: byId("seed").value,
});

const drawsUpTo = (most) => {
  const list = [];
  for (let draws = 1; draws <= most; draws *= 4) list.push(draws);
  return list;
};

function changed(delay = 250) {
  clearTimeout(timer);
  document.body.dataset.state = "working";
  timer = setTimeout(() => {
    const address = writeAddress(state());
    if (address !== location.hash) history.replaceState(null, "", address);
    run();
  }, delay);
}

async function run() {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  const asked = state();
  document.body.dataset.state = "working";
  byId("answer").classList.add("stale");
  say("compiling", 0);
  try {
    const question = await ask("api/question", asked, signal);
    current = { asked, question, points: { direct: [], sums: [], law: [] }, skipped: {} };
    showQuestion();
    if (question.ways.best.error) throw new Error(question.ways.best.error);
    await measure(signal);
    say("", 0);
    document.body.dataset.state = "done";
  } catch (error) {
    if (signal.aborted) return;
    reject(error.message);
    say("", 0);
    document.body.dataset.state = "rejected";
  }
}

async function measure(signal) {
  const list = drawsUpTo(Number(current.asked.m));
  const ways = WAYS.filter((way) => !current.question.ways[way.name].error);
  let done = 0;
  for (const draws of list) {
    for (const way of ways) {
      done += 1;
      if (current.skipped[way.name]) continue;
      say(`measuring ${done} of ${list.length * ways.length}`, done / (list.length * ways.length));
      try {
        const point = await ask("api/measure", { ...current.asked, m: draws, way: way.name }, signal);
        current.points[way.name].push(point);
      } catch (error) {
        if (signal.aborted) throw error;
        current.skipped[way.name] = `from ${draws.toLocaleString("en")} draws on: ${error.message}`;
      }
      showMeasured();
    }
  }
}

function say(text, share) {
  byId("status").textContent = text;
  byId("bar").style.width = `${100 * share}%`;
}

function reject(text) {
  byId("rejection").hidden = false;
  byId("answer").hidden = true;
  byId("report").textContent = text;
}

function exactValue() {
  const { ways, quadrature } = current.question;
  if (!ways.best.error && !ways.best.sampled && ways.best.value !== null) return [ways.best.value, "closed form"];
  const each = Number(current.asked.n) > 1 ? "quadrature for one weight, times the number of weights" : "quadrature";
  return quadrature === null ? [null, "no finite value was found by quadrature"] : [quadrature, each];
}

const eight = (value) => (Math.abs(value) < 1e7 && Math.abs(value) >= 1e-4 ? value.toFixed(8) : value.toExponential(8));

function showQuestion() {
  const { question } = current;
  byId("rejection").hidden = true;
  byId("answer").hidden = false;
  byId("answer").classList.remove("stale");
  const many = question.weights > 1 ? `, ${question.weights.toLocaleString("en")} weights` : "";
  byId("title").replaceChildren("KL( ", element("b", { style: "color:var(--posterior)" }, question.posterior), " ‖ ",
    element("b", { style: "color:var(--prior)" }, question.prior), ` )${many}`);
  const [value, source] = exactValue();
  byId("exact").textContent = value === null ? "∞?" : eight(value);
  byId("source").textContent = source;
  showDensities(question.curve);
  showChoice();
  showGraphs();
  byId("program").textContent = question.ways.law.program ?? question.ways.best.program ?? "";
  showMeasured();
}

function showChoice() {
  const { ways } = current.question;
  const lines = [["kl = auto", ways.best], ["kl = monte_carlo", ways.law], ["kl = direct", ways.direct]];
  byId("choice").replaceChildren(...lines.map(([option, way]) => element("div", {}, element("code", {}, option),
    element("span", {}, way.error ? way.error : `${way.report} (${duration(way.seconds)} to machine code)`))));
}

function showDensities(curve) {
  const place = byId("densities");
  if (!curve?.length) { place.textContent = "the densities cannot be drawn: no draw of the posterior is available"; return; }
  const peak = Math.max(...curve.map(([, q, p]) => Math.max(Number.isFinite(q) ? q : 0, 0)));
  const highest = Math.min(Math.max(...curve.map(([, q, p]) => Math.max(q ?? 0, p ?? 0))), 1.6 * peak);
  const chart = new Chart(place, {
    width: 470, height: 190, left: 12, right: 12, bottom: 38, bareY: true, x: [curve[0][0], curve[curve.length - 1][0]], y: [0, 1.06 * highest],
    labelX: current.question.transformed ? "weight before its transformation to the support of the prior" : "weight",
    describe: "The densities of posterior and prior",
  });
  const cut = (at) => curve.map((row) => [row[0], Math.min(row[at] ?? 0, 1.06 * highest)]);
  const floor = curve.map(([x]) => [x, 0]);
  for (const [at, colour] of [[2, "var(--prior)"], [1, "var(--posterior)"]]) {
    chart.area(cut(at), floor, colour, 0.13);
    chart.path(cut(at), { stroke: colour });
  }
}

function facts() {
  const { points, question } = current;
  const entries = WAYS.map((way) => {
    const last = points[way.name][points[way.name].length - 1];
    const text = last ? withError(last.mean, last.error) : question.ways[way.name].error ? "rejected" : "…";
    const at = last ? `M = ${last.draws.toLocaleString("en")}, ${way.name}` : way.name;
    const mark = element("i", { class: `mark ${way.fact}`, style: `background:${way.colour}` });
    return element("div", {}, element("dt", {}, mark, at), element("dd", { id: `estimate-${way.name}` }, text));
  });
  byId("facts").replaceChildren(...entries);
}

// Formats the error with two digits, and the mean with as many decimal places.
function withError(mean, error) {
  if (!Number.isFinite(mean) || !Number.isFinite(error)) return "not a number";
  if (error === 0) return `${Number(mean.toPrecision(9))} ± 0`;
  const places = Math.max(0, 1 - Math.floor(Math.log10(error)));
  return places > 9 || places === 0 ? `${mean.toPrecision(6)} ± ${error.toExponential(1)}` : `${mean.toFixed(places)} ± ${error.toFixed(places)}`;
}

// Returns the range of a linear axis that contains these values with some margin.
function around(values) {
  const finite = values.filter(Number.isFinite);
  if (!finite.length) return [0, 1];
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const room = 0.08 * (high - low) || 0.05 * Math.abs(high) || 1;
  return [low - room, high + room];
}

const logAround = (values) => {
  const positive = values.filter((value) => value > 0 && Number.isFinite(value));
  return positive.length ? [10 ** Math.floor(Math.log10(Math.min(...positive))), 10 ** Math.ceil(Math.log10(1.0001 * Math.max(...positive)))] : [0.1, 1];
};

const shown = () => WAYS.map((way, at) => ({ ...way, at, points: current.points[way.name] })).filter((way) => way.points.length);

// Marks of several ways at the same number of draws are placed side by side.
const beside = (chart, way, draws) => chart.x.at(draws) + (way.at - 1) * 9;

function showMeasured() {
  facts();
  const most = Number(current.asked.m);
  const x = [0.72, most * 1.4];
  const common = { x, logX: true, labelX: "draws M", tickX: drawsUpTo(most).filter((_, at, all) => all.length < 9 || at % 2 === 0) };
  const ways = shown();
  const all = ways.flatMap((way) => way.points);
  const [exact] = exactValue();
  byId("legend").replaceChildren(...WAYS.map((way) => element("span", {}, element("i", { class: `mark ${way.fact}`, style: `background:${way.colour}` }),
    way.label + remark(way.name))),
    element("span", {}, element("i", { class: "dash" }), "exact value"));
  showEstimates(common, ways, all, exact);
  showVariances(common, ways, all);
  const time = new Chart(byId("seconds"), {
    ...common, logY: true, y: logAround(all.map((point) => point.seconds)), tickY: duration, describe: "Seconds per evaluation against draws",
  });
  for (const way of ways) lineWith(time, way, "seconds", duration);
  showTable();
}

// Returns a remark about a way for the legend of the charts.
function remark(name) {
  const { ways } = current.question;
  if (ways[name].error) return " (error)";
  if (current.skipped[name]) return ` (not ${current.skipped[name]})`;
  return name === "law" && ways.law.report === ways.sums.report ? " (no distribution is known: the same as for the draws)" : "";
}

function lineWith(chart, way, key, show) {
  const points = way.points.filter((point) => point[key] > 0);
  chart.path(points.map((point) => [point.draws, point[key]]), { stroke: way.colour });
  for (const point of points) chart.mark(way.mark, chart.x.at(point.draws), chart.y.at(point[key]), way.colour, `${way.label}, M = ${point.draws}: ${show(point[key])}`);
}

function showEstimates(common, ways, all, exact) {
  const ends = all.flatMap((point) => [point.mean - point.deviation, point.mean + point.deviation]);
  const chart = new Chart(byId("estimates"), {
    ...common, width: 1120, height: 360, y: around([...ends, exact ?? NaN]), describe: "Estimates of the KL against draws, with the exact value",
  });
  for (const way of ways) {
    const band = (sign) => way.points.map((point) => [point.draws, point.mean + sign * point.deviation]);
    chart.area(band(1), band(-1), way.colour, 0.1);
  }
  if (exact !== null) {
    const at = chart.y.at(exact);
    chart.add("line", { x1: chart.box.left, x2: chart.box.right, y1: at, y2: at, stroke: "var(--exact)", "stroke-width": 1.6, "stroke-dasharray": "6 5" });
    chart.add("text", { x: chart.box.right - 4, y: at - 7, "text-anchor": "end", style: "fill:var(--ink);font-weight:600" }, `exact ${brief(exact)}`);
  }
  for (const way of ways) {
    for (const point of way.points) {
      const at = beside(chart, way, point.draws);
      const [upper, lower] = [point.mean + point.error, point.mean - point.error].map((value) => chart.y.at(value));
      chart.add("line", { x1: at, x2: at, y1: upper, y2: lower, stroke: way.colour, "stroke-width": 2 });
      for (const end of [upper, lower]) chart.add("line", { x1: at - 4, x2: at + 4, y1: end, y2: end, stroke: way.colour, "stroke-width": 2 });
      chart.mark(way.mark, at, chart.y.at(point.mean), way.colour, `${way.label}, M = ${point.draws}: ${brief(point.mean)} ± ${brief(point.error)}`);
    }
  }
}

function showVariances(common, ways, all) {
  const variances = all.map((point) => point.variance);
  const chart = new Chart(byId("variances"), { ...common, logY: true, y: logAround(variances), describe: "Variance of one evaluation against draws, on logarithmic axes" });
  const positive = all.filter((point) => point.variance > 0);
  if (!positive.length) {
    const text = all.length ? "every evaluation gives the same value: there is no variance" : "";
    chart.add("text", { x: 300, y: 140, "text-anchor": "middle" }, text);
    return;
  }
  const level = Math.exp(positive.reduce((sum, point) => sum + Math.log(point.variance * point.draws), 0) / positive.length);
  const [low, high] = logAround(variances);
  const most = Number(current.asked.m);
  const from = Math.max(1, level / high);
  const to = Math.min(most, level / low);
  chart.path([[from, level / from], [to, level / to]], { stroke: "var(--soft)", "stroke-width": 1, "stroke-dasharray": "3 4" });
  for (const way of ways) lineWith(chart, way, "variance", brief);
}

function showGraphs() {
  const { ways } = current.question;
  const differ = !ways.best.error && !ways.best.sampled;
  const choices = [["best", "kl = auto"], ["law", "kl = monte_carlo, law"], ["sums", "kl = monte_carlo, sums"]].filter(([name]) => differ || name !== "best");
  const after = choices.some(([name]) => name === picked) ? picked : choices[0][0];
  byId("which").replaceChildren(...choices.map(([name, label]) => element("button", {
    type: "button", "aria-pressed": String(name === after), onclick: () => { picked = name; showGraphs(); byId("which").querySelector("[aria-pressed=true]").focus(); },
  }, label)));
  byId("after-title").textContent = `after: ${choices.find(([name]) => name === after)[1]}`;
  showGraph("before", ways.direct);
  showGraph("after", ways[after]);
  const rows = [["direct", ways.direct], ...choices.map(([name]) => [name, ways[name]])].filter(([, way]) => !way.error);
  const sizes = rows[0]?.[1].graph.sizes ?? [];
  byId("sizes").replaceChildren(
    element("thead", {}, element("tr", {}, element("th", {}, "numbers that need gradients at M ="), ...sizes.map(([draws]) => element("th", {}, draws.toLocaleString("en"))))),
    element("tbody", {}, ...rows.map(([name, way]) => element("tr", {}, element("td", {}, name), ...way.graph.sizes.map(([, count]) => element("td", {}, count.toLocaleString("en")))))),
  );
}

function showGraph(side, way) {
  const count = byId(`nodes-${side}`);
  if (way.error) {
    byId(side).replaceChildren(element("pre", {}, way.error));
    count.textContent = "";
    return;
  }
  const { graph } = way;
  drawGraph(byId(side), graph, `${graph.nodes.length} nodes, ${graph.gradient_nodes} of them need gradients`);
  count.replaceChildren(element("b", {}, String(graph.gradient_nodes)), ` of ${graph.nodes.length} nodes need gradients, `,
    element("b", {}, graph.gradient_numbers.toLocaleString("en")), ` numbers at M = ${current.question.draws.toLocaleString("en")}`);
}

function showTable() {
  const heads = ["way", "M", "mean", "std. error", "variance", "time", "memory", "repetitions"];
  const rows = WAYS.flatMap((way) => current.points[way.name].map((point) => [way.name, point.draws.toLocaleString("en"), brief6(point.mean), brief(point.error), brief(point.variance),
    duration(point.seconds), `${Math.ceil(point.bytes / 1024).toLocaleString("en")} KiB`, point.repetitions]));
  byId("table").replaceChildren(
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", {}, head)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, String(cell)))))),
  );
}

const brief6 = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(7))) : "–");

function apply(wanted) {
  if (!offered.posterior.set(wanted.q)) offered.posterior.set(DEFAULTS.q);
  if (!offered.prior.set(wanted.p)) offered.prior.set(DEFAULTS.p);
  for (const key of ["n", "m", "r", "taylor", "seed"]) {
    byId(key).value = wanted[key];
    if (byId(key).value === "") byId(key).value = DEFAULTS[key];
  }
}

function options(select, values, show = String) {
  select.append(...values.map((value) => element("option", { value: String(value) }, show(value))));
}

async function begin() {
  const { families, limits } = await ask("api/families", {});
  offered = {
    posterior: new Distribution(byId("q"), families, "Posterior q", "var(--posterior)", "posterior", changed),
    prior: new Distribution(byId("p"), families, "Prior p", "var(--prior)", "prior", changed),
  };
  options(byId("m"), drawsUpTo(limits.draws).slice(2), (draws) => draws.toLocaleString("en"));
  options(byId("r"), [16, 64, 256, 1000].filter((count) => count <= limits.repetitions));
  options(byId("taylor"), Array.from({ length: limits.taylor + 1 }, (_, order) => order), (order) => (order ? String(order) : "none"));
  byId("n").max = limits.weights;
  for (const key of ["n", "seed"]) byId(key).addEventListener("input", () => changed());
  for (const key of ["m", "r", "taylor"]) byId(key).addEventListener("change", () => changed());
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("again").addEventListener("click", () => changed(0));
  byId("copy").addEventListener("click", copyLink);
  const known = EXAMPLES.filter(([, q, p]) => offered.posterior.has(readDistribution(q).family) && offered.prior.has(readDistribution(p).family));
  byId("examples").append(...known.map(([label, q, p]) => element("button", { type: "button", title: `${q} ‖ ${p}`, onclick: () => { apply({ ...state(), q, p }); changed(0); } }, label)));
  window.addEventListener("hashchange", () => { apply(readAddress()); changed(0); });
  apply(readAddress());
  changed(0);
}

async function copyLink() {
  const button = byId("copy");
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "The link is in the address bar";
  }
  setTimeout(() => { button.textContent = "Copy link"; }, 1500);
}

begin().catch((error) => { reject(error.message); document.body.dataset.state = "rejected"; });
