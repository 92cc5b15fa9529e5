# SPDX-License-Identifier: LGPL-2.1-or-later
"""A page in a real Chromium, over its DevTools protocol through a pipe: what a script on the page cannot do, as real keys, what a
screen reader is told, a screen of another size, print."""

import fcntl
import json
import os
import select
import subprocess
import time

KEYS = {"Tab": (9, "\t"), "Enter": (13, "\r"), " ": (32, " "), "ArrowRight": (39, None), "ArrowDown": (40, None)}


class Chromium:
    def __init__(self, profile):
        # Only a failure waits for it.
        self.deadline = time.monotonic() + 400 * int(os.environ.get("VMWSS_PATIENCE", 1))
        self.next, self.buffer, self.console = 0, b"", []
        self.session, self.loaded = None, 0
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # Above those that the shell is to make of them.
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (theirs_in, theirs_out)]
        os.close(theirs_in), os.close(theirs_out)
        options = f"--headless --no-sandbox --disable-gpu --user-data-dir='{profile}' --remote-debugging-pipe"
        self.process = subprocess.Popen(
            ["bash", "-c", f"exec chromium {options} 3<&{theirs[0]} 4>&{theirs[1]}"],
            pass_fds=theirs,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"HOME": profile},
        )
        for fd in theirs:
            os.close(fd)
        self.reading, self.writing = ours_in, ours_out
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Accessibility"):
            self.call(f"{domain}.enable")

    def close(self):
        try:
            self.call("Browser.close")
        except (OSError, TimeoutError):
            self.process.kill()
        self.process.wait()

    def message(self):
        while b"\0" not in self.buffer:
            left = self.deadline - time.monotonic()
            if left <= 0 or not select.select([self.reading], [], [], left)[0]:
                raise TimeoutError("Chromium does not answer")
            piece = os.read(self.reading, 1 << 16)
            if not piece:
                raise OSError("Chromium ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded += 1
        if method in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
            self.console.append(json.dumps(params)[:400])

    def call(self, method, **params):
        self.next += 1
        message = {"id": self.next, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") != self.next:
                self.note(answer)
                continue
            if "error" in answer:
                raise OSError(f"{method}: {answer['error']}")
            return answer["result"]

    def open(self, url):
        """Returns when the page is loaded."""
        # First away from it: to another place on the same page there is no load.
        for address in ("about:blank", url):
            before = self.loaded
            self.call("Page.navigate", url=address)
            while self.loaded <= before:
                self.note(self.message())

    def screen(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, kind, scheme):
        """kind: "screen", "print"; scheme: "light", "dark"."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=kind, features=features)

    def ask(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise OSError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def key(self, name):
        code, text = KEYS[name]
        press = {"key": name, "windowsVirtualKeyCode": code, "code": "Space" if name == " " else name}
        self.call("Input.dispatchKeyEvent", type="keyDown", **press, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **press)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def tree(self):
        """[(role, name, {property: value})] of what a screen reader is told."""
        value = lambda node, key: node.get(key, {}).get("value", "")
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [
            (value(n, "role"), value(n, "name"), {p["name"]: p["value"].get("value") for p in n.get("properties", [])})
            for n in nodes
            if not n.get("ignored")
        ]
