// SPDX-License-Identifier: LGPL-2.1-or-later
// What html_report.h does with a script: its table sorts and is searched, and its pictures are read out. The page's address
// says how, so that it can be kept: #sort=wss&find=web; a "-" before the key turns the order round.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const table = document.getElementById("guests"), body = table.tBodies[0], each = document.getElementById("each");
  const find = document.getElementById("find"), found = document.getElementById("found");
  const rows = [...body.rows], headings = [...table.tHead.rows[0].cells];
  const keys = headings.map((h) => h.firstElementChild.dataset.key);
  const articleOf = (row) => document.getElementById(row.dataset.for);
  const view = { sort: "", find: "" };

  // --- the table ---

  const isNumber = (column) => headings[column].classList.contains("n");
  const valueOf = (row, column) => isNumber(column) ? Number(row.cells[column].dataset.v) : row.cells[column].textContent;

  // Numbers begin with the largest, text with A.
  function sort(how) {
    const reverse = how.startsWith("-"), column = keys.indexOf(reverse ? how.slice(1) : how);
    if (column < 0) return;
    const ascending = isNumber(column) === reverse, sign = ascending ? 1 : -1;
    const compare = isNumber(column) ? (a, b) => a - b : new Intl.Collator(undefined, { numeric: true }).compare;
    rows.sort((a, b) => sign * compare(valueOf(a, column), valueOf(b, column)));
    body.append(...rows);
    each.append(...rows.map(articleOf));
    headings.forEach((h, i) => h.setAttribute("aria-sort", i !== column ? "none" : ascending ? "ascending" : "descending"));
    view.sort = how;
  }

  function search(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const row of rows) {
      const article = articleOf(row), all = (row.textContent + " " + article.querySelector("h3").textContent).toLowerCase();
      const hit = words.every((word) => all.includes(word));
      row.hidden = article.hidden = !hit;
      n += hit;
    }
    found.textContent = words.length ? `${n} of ${rows.length} guests` : `${n} guest${n === 1 ? "" : "s"}`;
    view.find = text;
  }

  function remember() {
    const set = Object.entries(view).filter(([, value]) => value);
    history.replaceState(null, "", set.length ? "#" + new URLSearchParams(set) : location.pathname + location.search);
  }

  // Of an address that names a guest, as #g3, nothing is taken.
  function obey() {
    if (!location.hash.includes("=")) return;
    const set = new URLSearchParams(location.hash.slice(1));
    sort(set.get("sort") || "");
    find.value = set.get("find") || "";
    search(find.value);
  }

  table.tHead.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    sort(view.sort === button.dataset.key ? "-" + button.dataset.key : button.dataset.key);
    remember();
  });
  find.addEventListener("input", () => { search(find.value); remember(); });
  find.form.addEventListener("submit", (event) => event.preventDefault());
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
