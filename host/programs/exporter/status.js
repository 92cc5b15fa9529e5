// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of /status (web.h): reads status.json every five seconds, while the page is seen, and shows it. What comes from
// there becomes text, never markup. A row stays the same element, by the guest's UUID, so that what is selected or has the
// focus stays so.
"use strict";

const PERIOD_MS = 5000, PATIENCE_MS = 10000, OLD_S = 300;
const at = (id) => document.getElementById(id);
const table = at("guests"), head = table.tHead.rows[0], body = table.tBodies[0];
const collator = new Intl.Collator(undefined, { numeric: true });
const view = { sort: "guest", ascending: true, find: "" };
let data = null, readAt = 0, timer = 0, paused = false, rows = new Map();

// --- how it is written ---

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
function bytes(value) {
  if (value == null) return "–";
  let i = 0;
  while (value >= 1024 && i + 1 < units.length) { value /= 1024; i++; }
  return `${value.toFixed(i && 1)} ${units[i]}`;
}
function seconds(value) {
  if (value < 120) return `${Number(value.toFixed(value < 10 ? 1 : 0))} s`;
  const minutes = Math.floor(value / 60), hours = Math.floor(minutes / 60);
  return minutes < 120 ? `${minutes} min` : hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}
// What commands a terminal, breaks lines, or reorders what stands beside it, becomes a question mark: as html_text() does it.
const clean = (text) => String(text ?? "").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?");

// --- the columns ---

// The shortest window, one between, the longest: of the guest that has the most.
function windowsOf(guests) {
  const most = guests.reduce((a, g) => (g.windows?.length > a.length ? g.windows : a), []).map((w) => w.window_s);
  return most.length <= 3 ? most : [most[0], most[Math.floor((most.length - 1) / 2)], most[most.length - 1]];
}
const windowOf = (guest, s) => guest.windows?.find((w) => w.window_s === s);
const halfWidth = (w) => Math.max(w.wss_high_bytes - w.wss_bytes, w.wss_bytes - w.wss_low_bytes);
const ageOf = (guest) => guest.age_seconds + (performance.now() - readAt) / 1000;

function number(key, name, value, text) {
  return { key, name, value: (g) => value(g) ?? -1, fill: (cell, g) => setText(cell, value(g) == null ? "–" : text(value(g), g)), n: true };
}
function words(key, name, text) {
  return { key, name, value: text, fill: (cell, g) => setText(cell, text(g)), n: false };
}
function columnsOf(guests) {
  const windows = windowsOf(guests);
  return [
    { ...words("guest", "Guest", (g) => clean(g.domain)), fill: fillName },
    number("assigned", "Assigned", (g) => g.ram_bytes, bytes),
    number("resident", "Resident", (g) => g.resident_bytes, bytes),
    ...windows.map((s) => number(`wss${s}`, `WSS, ${seconds(s)}`, (g) => windowOf(g, s)?.wss_bytes,
      (v, g) => `${bytes(v)} ± ${bytes(halfWidth(windowOf(g, s)))}`)),
    number("share", "Of RAM", (g) => (windows.length && windowOf(g, windows[0]) && g.ram_bytes
      ? windowOf(g, windows[0]).wss_bytes / g.ram_bytes : null), (v) => `${(100 * v).toFixed(1)} %`),
    number("reclaimable", "Reclaimable", (g) => g.reclaimable_bytes, bytes),
    words("method", "Method", (g) => clean(g.method ?? "–")),
    number("age", "Age", ageOf, seconds),
    words("state", "State", (g) => [g.measured ? "" : clean(g.reason), ...(g.flags ?? []).map(clean)].filter(Boolean).join(", ")),
  ];
}

// --- the table ---

// An element whose text is right is left alone: a screen reader would read it again.
function setText(element, text) { if (element.textContent !== text) element.textContent = text; }

function fillName(cell, guest) {
  const bdi = cell.firstElementChild ?? cell.appendChild(document.createElement("bdi"));
  setText(bdi, clean(guest.domain));
  cell.title = clean(guest.uuid);
}

function showHead(columns) {
  const keys = columns.map((c) => c.key).join();
  if (head.dataset.keys !== keys) {
    head.dataset.keys = keys;
    head.replaceChildren(...columns.map((column) => {
      const th = document.createElement("th"), button = document.createElement("button"), arrow = document.createElement("span");
      th.scope = "col";
      th.className = column.n ? "n" : "";
      button.type = "button";
      button.dataset.key = column.key;
      button.textContent = column.name;
      arrow.className = "arrow";
      th.append(button, arrow);
      return th;
    }));
    for (const row of rows.values()) row.remove();
    rows = new Map();
  }
  columns.forEach((c, i) => head.cells[i].setAttribute("aria-sort",
    c.key !== view.sort ? "none" : view.ascending ? "ascending" : "descending"));
}

function makeRow(columns) {
  const row = document.createElement("tr");
  columns.forEach((column, i) => {
    const cell = row.appendChild(document.createElement(i ? "td" : "th"));
    if (!i) cell.scope = "row";
    if (column.n) cell.className = "n";
  });
  return row;
}

// Text from A, numbers from the largest, unless turned round; guests that are equal by name.
function sorted(guests, columns) {
  const column = columns.find((c) => c.key === view.sort) ?? columns[0], sign = view.ascending ? 1 : -1;
  const compare = column.n ? (a, b) => column.value(a) - column.value(b) : (a, b) => collator.compare(column.value(a), column.value(b));
  return [...guests].sort((a, b) => sign * compare(a, b) || collator.compare(a.domain, b.domain) || collator.compare(a.uuid, b.uuid));
}

function isFound(guest) {
  const text = `${clean(guest.domain)} ${guest.uuid} ${guest.method} ${(guest.flags ?? []).join(" ")} ${guest.reason ?? ""}`.toLowerCase();
  return view.find.toLowerCase().split(/\s+/).filter(Boolean).every((word) => text.includes(word));
}

const clock = (time) => `${time.slice(0, 19).replace("T", " ")} UTC`;
const unix = (time) => Date.parse(`${time.slice(0, 19)}Z`) / 1000;
// Of all guests, also of those that are left out, so that it may be of none of those that are shown.
function newest() {
  if (!data.newest) return "; the history has no records yet";
  const age = unix(data.time) - unix(data.newest);
  return age < OLD_S ? "" : `; the newest record is of ${clock(data.newest)}, ${seconds(age)} before: does vmwssd run?`;
}

function show() {
  if (!data) return;
  const columns = columnsOf(data.guests), found = sorted(data.guests, columns).filter(isFound), shown = new Map();
  showHead(columns);
  found.forEach((guest, place) => {
    const row = rows.get(guest.uuid) ?? makeRow(columns);
    columns.forEach((column, i) => column.fill(row.cells[i], guest));
    shown.set(guest.uuid, row);
    if (body.rows[place] !== row) body.insertBefore(row, body.rows[place] ?? null);
  });
  for (const [uuid, row] of rows) if (!shown.has(uuid)) row.remove();
  rows = shown;
  const n = data.guests.length;
  setText(at("found"), view.find ? `${found.length} of ${n} guests` : `${n} guest${n === 1 ? "" : "s"} with a record`);
  setText(at("host"), clean(data.host ?? "this host"));
  setText(at("when"), `As of ${clock(data.time)}` + newest());
}

// --- reading ---

function trouble(text) {
  at("trouble").hidden = !text;
  setText(at("trouble"), text);
}

async function read() {
  const answer = await fetch("status.json", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  const text = await answer.text();
  if (answer.status === 503) throw new Error(JSON.parse(text).error);
  if (!answer.ok) throw new Error(`${answer.status}: ${text.slice(0, 200)}`);
  const object = JSON.parse(text);
  if (object?.schema !== "vmwss.current.v1" || !Array.isArray(object.guests)) throw new Error("these are no data of vmwss-exporter's");
  data = object;
  readAt = performance.now();
}

async function renew() {
  clearTimeout(timer);
  try {
    await read();
    show();
    trouble("");
  } catch (error) {
    trouble(`Not renewed: ${clean(error.message)}. ` + (data ? "The table is what was read last." : ""));
  } finally {
    clearTimeout(timer);
    if (!paused && !document.hidden) timer = setTimeout(renew, PERIOD_MS);
  }
}

// --- what is done by hand ---

head.addEventListener("click", (event) => {
  const key = event.target.closest("button")?.dataset.key;
  if (!key) return;
  const number = event.target.closest("th").className === "n";
  view.ascending = view.sort === key ? !view.ascending : !number;
  view.sort = key;
  show();
});
at("find").addEventListener("input", () => { view.find = at("find").value; show(); });
at("find").form.addEventListener("submit", (event) => event.preventDefault());
at("pause").addEventListener("click", () => {
  paused = !paused;
  at("pause").setAttribute("aria-pressed", String(paused));
  if (paused) clearTimeout(timer); else renew();
});
document.addEventListener("visibilitychange", () => { if (!paused && !document.hidden) renew(); else clearTimeout(timer); });
renew();
