"use strict";
// The user's choices: builds the controls from the families that the server lists, and keeps their state as text in the address.

const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

// Parses `Normal(loc = 0.3, scale = fixed(0.5))`, in the syntax of the language, to { family, args: { loc: 0.3, .. }, fixed: { scale } }.
function readDistribution(text) {
  let at = 0;
  const blank = () => { while (/\s/.test(text[at] ?? "")) at += 1; };
  const take = (pattern) => {
    blank();
    const found = text.slice(at).match(pattern);
    if (!found || found.index !== 0) return null;
    at += found[0].length;
    return found[0];
  };
  const argument = () => {
    const number = take(/[-+]?(\d+(\.\d+)?)([eE][-+]?\d+)?/);
    if (number !== null) return { number };
    if (take(/fixed\s*\(/) !== null) {
      const inner = argument();
      return inner && take(/\)/) !== null ? { ...inner, fixed: true } : null;
    }
    const dist = call();
    return dist && { dist };
  };
  const call = () => {
    const family = take(/[A-Za-z_]\w*/);
    if (family === null || take(/\(/) === null) return null;
    const args = [];
    while (take(/\)/) === null) {
      if (args.length > 0 && take(/,/) === null) return null;
      const start = at;
      const name = take(/[A-Za-z_]\w*/);
      const named = name !== null && take(/=/) !== null;
      if (!named) at = start;
      const value = argument();
      if (value === null) return null;
      args.push({ name: named ? name : null, ...value });
    }
    return { family, args };
  };
  const read = call();
  blank();
  return at === text.length ? read : null;
}

// The controls of one distribution inside `place`: a list of families, and a field for each parameter.
class Distribution {
  constructor(place, families, label, colour, role, changed) {
    Object.assign(this, { place, families, label, role, changed });
    this.list = families.filter((family) => (role === "posterior" ? family.posterior : family.prior));
    this.values = {};
    this.select = element("select", { "aria-label": label, id: `${role}-family`, onchange: () => this.choose(this.select.value) });
    for (const family of this.list) this.select.append(element("option", { value: family.name }, family.name));
    this.about = element("p", { class: "hint" });
    this.fields = element("div");
    if (colour) {
      const mark = element("i");
      mark.style.background = colour;
      place.append(element("legend", {}, mark, label));
    }
    place.append(this.select, this.about, this.fields);
  }

  has(name) { return this.list.some((family) => family.name === name); }

  choose(name, args = [], quiet = false) {
    this.family = this.list.find((family) => family.name === name);
    if (!this.family) return false;
    this.select.value = name;
    this.about.textContent = this.family.about.replace(/`/g, "");
    this.fields.replaceChildren();
    this.parts = this.family.parameters.map((parameter, at) => {
      const given = args.find((arg) => arg.name === parameter.name) ?? args.filter((arg) => arg.name === null)[at];
      return this.part(parameter, given);
    });
    if (!quiet) this.changed();
    return true;
  }

  part(parameter, given) {
    return typeof parameter.default === "object" ? this.inner(parameter, given) : this.number(parameter, given);
  }

  inner(parameter, given) {
    const box = element("div", { class: "nested" }, element("span", { class: "hint" }, parameter.name));
    const inner = new Distribution(box, this.families, parameter.name, null, `${this.role}-${parameter.name}`, this.changed);
    const standing = parameter.default;
    const names = inner.list.find((family) => family.name === standing.family)?.parameters ?? [];
    const args = names.map((own, at) => ({ name: own.name, number: String(standing.arguments[at]) }));
    if (!(given?.dist && inner.choose(given.dist.family, given.dist.args, true))) inner.choose(standing.family, args, true);
    this.fields.append(box);
    return () => `${parameter.name} = ${inner.text()}`;
  }

  number(parameter, given) {
    const id = `${this.role}-${parameter.name}`;
    const step = parameter.whole ? "1" : "any";
    const input = element("input", { type: "number", id, step, value: given?.number ?? String(parameter.default), oninput: () => this.changed() });
    const row = element("label", { class: "row", title: `${parameter.name}: ${parameter.type}` }, element("span", {}, parameter.name), input);
    let held = given?.fixed === true;
    if (this.role === "posterior" && !parameter.whole) {
      const hold = element("button", { type: "button", class: "hold", title: "a fixed parameter is not learned, so no gradient flows from it" });
      const show = () => {
        hold.setAttribute("aria-pressed", String(held));
        hold.textContent = held ? "fixed" : "learn";
        hold.setAttribute("aria-label", `${parameter.name} is ${held ? "fixed" : "learned"}`);
      };
      hold.addEventListener("click", () => { held = !held; show(); this.changed(); });
      show();
      row.append(hold);
    } else row.append(element("span"));
    this.fields.append(row);
    return () => {
      const value = input.value.trim() === "" ? "0" : input.value.trim();
      return `${parameter.name} = ${held ? `fixed(${value})` : value}`;
    };
  }

  text() { return `${this.family.name}(${this.parts.map((part) => part()).join(", ")})`; }

  set(text) {
    const read = readDistribution(text);
    return read !== null && this.choose(read.family, read.args, true);
  }
}

const EXAMPLES = [
  ["closed form", "Normal(0.3, 0.5)", "Normal(0, 1)"],
  ["stop-gradient signs", "Normal(0.3, 0.5)", "Laplace(0, 1)"],
  ["no closed form", "Normal(0.3, 0.5)", "Logistic(0, 1)"],
  ["scale mixture", "Normal(0.3, 0.5)", "Mixture(0.5, Normal(0, 1), Normal(0, 0.0025))"],
  ["logarithms", "LogNormal(0.3, 0.5)", "LogNormal(0, 1)"],
  ["powers", "Exponential(0.5)", "HalfNormal(1)"],
  ["infinite", "Cauchy(0, 1)", "Normal(0, 1)"],
];

const DEFAULTS = { q: "Normal(0.3, 0.5)", p: "Laplace(0, 1)", n: "1", m: "4096", r: "64", taylor: "0", seed: "0" };

function readAddress() {
  const pairs = location.hash.slice(1).split("&").filter(Boolean).map((pair) => {
    const at = pair.indexOf("=");
    const decode = (text) => { try { return decodeURIComponent(text.replace(/\+/g, " ")); } catch { return ""; } };
    return at < 0 ? [pair, ""] : [pair.slice(0, at), decode(pair.slice(at + 1))];
  });
  return { ...DEFAULTS, ...Object.fromEntries(pairs.filter(([key]) => key in DEFAULTS)) };
}

const writeAddress = (state) => `#${Object.entries(state).map(([key, value]) => `${key}=${encodeURIComponent(value).replace(/%20/g, "+").replace(/%2C/g, ",").replace(/%3D/g, "=")}`).join("&")}`;
