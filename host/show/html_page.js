// SPDX-License-Identifier: LGPL-2.1-or-later
// What html_page.h does with a script: its tables sort and are searched, and its pictures are read out. The page's address says
// how, so that it can be kept: #sort=wss&find=web, of a table other than the first with its prefix, #guest-sort=...; a "-" before
// the key turns the order round.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const collator = new Intl.Collator(undefined, { numeric: true });

  // --- the tables ---

  class Sorted {
    constructor(table) {
      const section = table.closest("section");
      this.table = table;
      this.prefix = table.dataset.prefix;
      this.body = table.tBodies[0];
      this.rows = [...this.body.rows];
      this.headings = [...table.tHead.rows[0].cells];
      this.keys = this.headings.map((h) => h.firstElementChild.dataset.key);
      this.find = section.querySelector("input[type=search]");
      this.found = section.querySelector("output");
      this.view = { sort: "", find: "" };
      table.tHead.addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (!button) return;
        this.sort(this.view.sort === button.dataset.key ? "-" + button.dataset.key : button.dataset.key);
        remember();
      });
      this.find.addEventListener("input", () => { this.search(this.find.value); remember(); });
      this.find.form.addEventListener("submit", (event) => event.preventDefault());
    }

    // What the page has of a row beside it, further down.
    articleOf(row) { return row.dataset.for && document.getElementById(row.dataset.for); }
    isNumber(column) { return this.headings[column].classList.contains("n"); }
    valueOf(row, column) { return this.isNumber(column) ? Number(row.cells[column].dataset.v) : row.cells[column].textContent; }

    // Numbers begin with the largest, text with A.
    sort(how) {
      const reverse = how.startsWith("-"), column = this.keys.indexOf(reverse ? how.slice(1) : how);
      if (column < 0) return;
      const ascending = this.isNumber(column) === reverse, sign = ascending ? 1 : -1;
      const compare = this.isNumber(column) ? (a, b) => a - b : collator.compare;
      const values = new Map(this.rows.map((row) => [row, this.valueOf(row, column)]));
      this.rows.sort((a, b) => sign * compare(values.get(a), values.get(b)));
      this.body.append(...this.rows);
      for (const article of this.rows.map((row) => this.articleOf(row)).filter(Boolean)) article.parentElement.append(article);
      this.headings.forEach((h, i) => h.setAttribute("aria-sort", i !== column ? "none" : ascending ? "ascending" : "descending"));
      this.view.sort = how;
    }

    search(text) {
      const words = text.toLowerCase().split(/\s+/).filter(Boolean), noun = this.table.dataset.noun;
      let n = 0;
      for (const row of this.rows) {
        const article = this.articleOf(row);
        const all = (row.textContent + " " + (article?.querySelector("h3").textContent ?? "")).toLowerCase();
        const hit = words.every((word) => all.includes(word));
        row.hidden = !hit;
        if (article) article.hidden = !hit;
        n += hit;
      }
      this.found.textContent = words.length ? `${n} of ${this.rows.length} ${noun}s` : `${n} ${noun}${n === 1 ? "" : "s"}`;
      this.view.find = text;
    }

    obey(set) {
      this.sort(set.get(this.prefix + "sort") || "");
      this.find.value = set.get(this.prefix + "find") || "";
      this.search(this.find.value);
    }
  }

  const tables = [...document.querySelectorAll("table.sorts")].map((table) => new Sorted(table));

  function remember() {
    const set = tables.flatMap((t) => Object.entries(t.view).filter(([, v]) => v).map(([key, v]) => [t.prefix + key, v]));
    history.replaceState(null, "", set.length ? "#" + new URLSearchParams(set) : location.pathname + location.search);
  }

  // Of an address that names a guest, as #g3, nothing is taken.
  function obey() {
    if (!location.hash.includes("=")) return;
    const set = new URLSearchParams(location.hash.slice(1));
    for (const table of tables) table.obey(set);
  }

  addEventListener("hashchange", obey);
  obey();

  // --- the pictures ---

  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  function shown(value, unit) {
    if (unit === "share") return `${Number((100 * value).toPrecision(3))} %`;
    let i = 0;
    while (value >= 1024 && i + 1 < units.length) { value /= 1024; i++; }
    return `${value.toFixed(i && 1)} ${units[i]}${unit === "bytes/s" ? "/s" : ""}`;
  }

  // The values of a path of steps, cell by cell; of a band what goes to the right, and what comes back.
  function stepsOf(path, top) {
    const there = [], back = [], scale = (y) => Math.max(0, (1 - y / 1000) * top);
    let x = 0, y = 0;
    for (const [, letter, a, b] of path.getAttribute("d").matchAll(/([Mhvz])(-?[\d.]*) ?([\d.]*)/g)) {
      if (letter === "M") { x = +a; y = +b; }
      if (letter === "v") y += +a;
      if (letter === "h") for (let n = +a; n; n -= Math.sign(n)) {
        if (n > 0) there[x++] = scale(y); else back[--x] = scale(y);
      }
    }
    return { there, back };
  }

  const read = new WeakMap();
  function dataOf(plot) {
    if (!read.has(plot)) {
      const svg = plot.querySelector("svg"), top = +plot.dataset.top, names = new Map(), series = [];
      for (const key of plot.parentElement.querySelectorAll(".key > span")) names.set(key.className, key.textContent);
      for (const path of svg.querySelectorAll("path")) {
        const style = path.getAttribute("class");
        if (names.has(style)) series.push({ style, name: names.get(style), ...stepsOf(path, top) });
      }
      series.sort((a, b) => [...names.keys()].indexOf(a.style) - [...names.keys()].indexOf(b.style));
      read.set(plot, { svg, series, unit: plot.dataset.unit, cells: svg.viewBox.baseVal.width });
    }
    return read.get(plot);
  }

  const guest = (plot) => plot.closest("[data-begin]");
  const timeOf = (plot, cell) => new Date(1000 * (+guest(plot).dataset.begin + cell * guest(plot).dataset.cell));
  const timeText = (time) => time.toISOString().slice(0, 16).replace("T", " ");
  const ofSeries = (s, cell, unit) => s.style === "band"
    ? (s.there[cell] === undefined ? undefined : `${shown(s.back[cell], unit)} to ${shown(s.there[cell], unit)}`)
    : s.there[cell] === undefined ? undefined : shown(s.there[cell], unit);

  function point(plot, cell) {
    const data = dataOf(plot), svg = data.svg;
    cell = Math.min(Math.max(cell, 0), data.cells - 1);
    plot.cell = cell;
    if (!plot.cursor) {
      plot.cursor = plot.appendChild(document.createElement("div"));
      plot.cursor.className = "cursor";
    }
    plot.cursor.style.left = `${svg.clientLeft + svg.getBoundingClientRect().left - plot.getBoundingClientRect().left +
      (cell + 0.5) / data.cells * svg.getBoundingClientRect().width}px`;
    plot.cursor.style.height = `${svg.getBoundingClientRect().height}px`;
    const values = data.series.map((s) => [s.name, ofSeries(s, cell, data.unit)]).filter(([, v]) => v !== undefined);
    plot.output.textContent = `${timeText(timeOf(plot, cell))}: ` +
      (values.length ? values.map(([name, v]) => `${name} ${v}`).join(", ") : "no record");
  }

  function asTable(plot, title) {
    const data = dataOf(plot), out = document.createElement("table");
    out.createCaption().textContent = title;
    const head = out.createTHead().insertRow();
    for (const name of ["Time (UTC)", ...data.series.map((s) => s.name)]) {
      const th = head.appendChild(document.createElement("th"));
      th.scope = "col";
      th.textContent = name;
    }
    const rows = out.createTBody();
    for (let cell = 0; cell < data.cells; cell++) {
      const row = rows.insertRow(), th = row.appendChild(document.createElement("th"));
      th.scope = "row";
      th.textContent = timeText(timeOf(plot, cell));
      for (const s of data.series) row.insertCell().textContent = ofSeries(s, cell, data.unit) ?? "–";
    }
    return out;
  }

  function tools(plot) {
    const bar = document.createElement("div"), button = document.createElement("button");
    const title = `${guest(plot).dataset.name ?? guest(plot).querySelector("h3 bdi").textContent}: ` +
      plot.parentElement.querySelector("figcaption").firstChild.textContent;
    bar.className = "tools";
    plot.output = document.createElement("output");
    plot.output.className = "read";
    plot.output.setAttribute("aria-live", "polite");
    button.type = "button";
    button.textContent = "Values as a table";
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => {
      const open = !bar.nextElementSibling;
      if (open) {
        const frame = document.createElement("div");
        frame.className = "scroll";
        frame.tabIndex = 0;
        frame.append(asTable(plot, title));
        bar.after(frame);
      } else bar.nextElementSibling.remove();
      button.setAttribute("aria-expanded", String(open));
    });
    bar.append(button, " ", plot.output);
    plot.after(bar);
  }

  for (const plot of document.querySelectorAll(".chart .plot")) {
    tools(plot);
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", "Picture: the arrow keys read it out");
    plot.addEventListener("pointermove", (event) => {
      const box = dataOf(plot).svg.getBoundingClientRect();
      point(plot, Math.floor((event.clientX - box.left) / box.width * dataOf(plot).cells));
    });
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -24, PageDown: 24, Home: -1e9, End: 1e9 }[event.key];
      if (!step) return;
      event.preventDefault();
      point(plot, (plot.cell ?? dataOf(plot).cells) + step);
    });
  }
});
