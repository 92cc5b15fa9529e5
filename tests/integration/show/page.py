# SPDX-License-Identifier: LGPL-2.1-or-later
"""A page of show/html_page.h: its elements, and what is to hold of every one; for report_page.py and plan_page.py."""

import html.parser
import re

VOID = {"meta", "input", "br", "img", "link", "hr"}
SHAPES = {"path", "rect", "title", "line", "pattern"}


class Element:
    def __init__(self, tag, attributes, parent):
        self.tag, self.attributes, self.parent, self.children, self.texts = tag, dict(attributes), parent, [], []

    def all(self, tag=None, style=None):
        for child in self.children:
            if (not tag or child.tag == tag) and (not style or style in child.get("class").split()):
                yield child
            yield from child.all(tag, style)

    def first(self, tag=None, style=None):
        return next(self.all(tag, style))

    def get(self, name):
        return self.attributes.get(name) or ""

    def text(self):
        return "".join(t if isinstance(t, str) else t.text() for t in self.texts)


class Page(html.parser.HTMLParser):
    """The elements of a page; also notes end tags that close nothing."""

    def __init__(self, path):
        super().__init__()
        self.root = self.at = Element("", [], None)
        self.wrong = []
        with open(path, encoding="utf-8") as page:
            self.feed(page.read())
        if self.at is not self.root:
            self.wrong.append(f"<{self.at.tag}> is not closed")

    def handle_starttag(self, tag, attrs):
        element = Element(tag, attrs, self.at)
        self.at.children.append(element)
        self.at.texts.append(element)
        if tag not in VOID:
            self.at = element

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.at = self.at.parent

    def handle_endtag(self, tag):
        if tag != self.at.tag:
            self.wrong.append(f"</{tag}> ends <{self.at.tag}>")
        elif self.at.parent:
            self.at = self.at.parent

    def handle_data(self, data):
        self.at.texts.append(data)


def table_of(page, ident):
    return next(t for t in page.root.all("table") if t.get("id") == ident)


def table_rows(page, ident):
    return [r for b in table_of(page, ident).all("tbody") for r in b.children]


def shown_name(name):
    """As html_text() shows it."""
    return re.sub("[\x00-\x1f\x7f]", "?", name).replace("\u202e", "???")


def wrong_markup(page):
    """End tags, captions, scopes, alternatives, ids; the headings of tables that sort."""
    wrong = page.wrong[:5]
    for table in page.root.all("table"):
        if not list(table.all("caption")) or any(not th.get("scope") for th in table.all("th")):
            wrong.append(f"table {table.get('id')}: no caption, or a heading without scope")
    for table in page.root.all("table", "sorts"):
        for th in table.first("thead").all("th"):
            if not th.get("aria-sort") or not list(th.all("button")):
                wrong.append(f"heading {th.text()}: no button, or no aria-sort")
    for svg in page.root.all("svg"):
        if svg.get("aria-hidden") != "true" and not (svg.get("role") == "img" and len(svg.get("aria-label")) > 20):
            wrong.append("a picture without an alternative")
    ids = [e.get("id") for e in page.root.all() if e.get("id")]
    if len(ids) != len(set(ids)) or page.root.first("html").get("lang") != "en":
        wrong.append("two elements of one id, or no language")
    return wrong


def check_alone(path):
    page = Page(path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    wrong = [
        f"{e.tag} {n}={e.get(n)}"
        for e in page.root.all()
        for n in e.attributes
        if n in ("src", "srcset", "action") or n.startswith("on")
    ]
    wrong += [f"href={e.get('href')}" for e in page.root.all("a") if not e.get("href").startswith("#")]
    wrong += [e.tag for e in page.root.all() if e.tag in ("img", "iframe", "link", "object", "base", "embed")]
    wrong += re.findall(r"https?:[^ \"']*|url\([^)]*\)|@import", text)
    policy = next(m.get("content") for m in page.root.all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    nonce = page.root.first("script").get("nonce")
    if (
        "default-src 'none'" not in policy
        or f"script-src 'nonce-{nonce}'" not in policy
        or len(list(page.root.all("script"))) != 1
    ):
        wrong.append(policy)
    if "\u202e" in text:
        wrong.append("U+202E")
    return wrong


# --- colours -----------------------------------------------------------------------------------------------------------


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def check_contrast(path):
    with open(path, encoding="utf-8") as file:
        css = file.read()
    wrong, least = [], {4.5: 99, 3: 99}
    blocks = re.findall(r":root \{(.*?)\}", css, re.S)
    if len(blocks) != 3:
        wrong.append("not light, dark and print")
    curves = "assigned capacity has resident wss written peak used give some full flag none focus".split()
    pairs = [(4.5, ink, paper) for ink in ("ink", "muted", "link") for paper in ("paper", "card")] + [
        (4.5, "chip-ink", "chip")
    ]
    pairs += [(3, curve, "card") for curve in curves] + [(3, "wss", "band"), (3, "hot", "cold")]
    for block in blocks:
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
        for need, ink, paper in pairs:
            found = contrast(colours[ink], colours[paper])
            least[need] = min(least[need], found)
            if found < need:
                wrong.append(f"{ink} {colours[ink]} on {paper} {colours[paper]}: {found:.2f} < {need}")
    # No text has another colour than these.
    used = set(re.findall(r"[^-]color: (?:var\(--([\w-]+)\)|inherit)", css)) - {""}
    drawn = set(re.findall(r"::before \{ color: var\(--([\w-]+)\)", css))
    if not used - drawn <= {"ink", "muted", "link", "chip-ink"}:
        wrong.append(f"text in {used - drawn}")
    print(f"# least contrast of text {least[4.5]:.2f}, of curves {least[3]:.2f}")
    return wrong


# --- in the browser ----------------------------------------------------------------------------------------------------

# Chromium's window is not narrower than 500 pixels, but a frame is.
FRAME = """<!DOCTYPE html><html><body><iframe width="360" height="800" style="border: 0" src="tested.html"></iframe>
<script>addEventListener("message", (event) => document.documentElement.dataset.test = event.data);</script></body></html>"""


def with_script(path, script):
    """Prints the page with the test's own script at the end of its head."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    nonce = re.search(r'<script nonce="(\w+)"', text)[1]
    print(text.replace("</head>", f'<script nonce="{nonce}">{script}</script></head>', 1))
