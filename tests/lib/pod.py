#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds a manifest of Kubernetes against its model, and runs its containers as a kubelet and a runtime would.

pod.py check MANIFEST                     each document has what its kind needs, and nothing that the kind has not
pod.py run MANIFEST CONTAINER IMAGE NODE  becomes that container, of the directory tree IMAGE, on a node whose files are below NODE

A container gets a read-only root, /dev and /sys as a runtime makes them, its volumes, and the capabilities that are left to it.
Paths of the node below /sys are this machine's. Not the interpreter of the environment: the model is Debian's python3-kubernetes."""

import json
import os
import shlex
import sys

import yaml
from kubernetes import client

DEVICES = "null", "zero", "full", "random", "urandom"


class Response:
    """What ApiClient takes an object from."""

    def __init__(self, document):
        self.data = json.dumps(document)


def documents(path):
    with open(path, encoding="utf-8") as file:
        return [document for document in yaml.safe_load_all(file) if document]


def unknown_fields(given, kept, path=""):
    """What was given and did not survive the model."""
    if isinstance(given, dict):
        for name, value in given.items():
            if name not in kept:
                yield f"{path}.{name}"
            else:
                yield from unknown_fields(value, kept[name], f"{path}.{name}")
    elif isinstance(given, list):
        for i, value in enumerate(given):
            yield from unknown_fields(value, kept[i], f"{path}[{i}]")
    elif given != kept:
        yield f"{path}: {given!r}, not {kept!r}"


def check(path):
    api = client.ApiClient()
    status = 0
    for document in documents(path):
        kept = api.sanitize_for_serialization(api.deserialize(Response(document), f"V1{document['kind']}"))
        for what in unknown_fields(document, kept):
            print(f"{document['kind']}{what}", file=sys.stderr)
            status = 1
    return status


def volume_source(manifest, volume, node):
    """A directory with the volume's content."""
    if "configMap" not in volume:
        path = volume["hostPath"]["path"]
        if path.startswith("/sys/"):
            return path
        if volume["hostPath"].get("type") == "DirectoryOrCreate":
            os.makedirs(node + path, exist_ok=True)
        return node + path
    directory = f"{node}/configmaps/{volume['configMap']['name']}"
    os.makedirs(directory, exist_ok=True)
    for document in manifest:
        if document["kind"] == "ConfigMap" and document["metadata"]["name"] == volume["configMap"]["name"]:
            for name, text in document["data"].items():
                with open(f"{directory}/{name}", "w", encoding="utf-8") as file:
                    file.write(text)
    return directory


def mounts(manifest, spec, container, image, node):
    """Shell commands, in the order in which a runtime has them."""
    yield f"mount --bind {image} {image}"
    yield f"mount -t proc proc {image}/proc"
    yield f"mount --rbind -o ro /sys {image}/sys && mount -o remount,bind,ro {image}/sys"
    yield f"mount -t tmpfs -o mode=755 tmpfs {image}/dev"
    for device in DEVICES:
        yield f": >{image}/dev/{device} && mount --bind /dev/{device} {image}/dev/{device}"
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    for mount in container["volumeMounts"]:
        target = image + mount["mountPath"]
        if not mount["mountPath"].startswith("/sys/"):
            os.makedirs(target, exist_ok=True)
        yield f"mount --bind {shlex.quote(volume_source(manifest, volumes[mount['name']], node))} {target}"
        if mount.get("readOnly"):
            yield f"mount -o remount,bind,ro {target}"
    if container["securityContext"]["readOnlyRootFilesystem"]:
        yield f"mount -o remount,bind,ro {image}"


def run(path, name, image, node):
    manifest = documents(path)
    spec = next(document for document in manifest if document["kind"] == "DaemonSet")["spec"]["template"]["spec"]
    container = next(c for c in spec["initContainers"] + spec["containers"] if c["name"] == name)
    security = container["securityContext"]
    assert security["capabilities"]["drop"] == ["ALL"] and not security["allowPrivilegeEscalation"]
    bounding = ",".join(["-all"] + ["+" + each.lower() for each in security["capabilities"]["add"]])
    command = ["chroot", image, "setpriv", "--no-new-privs", f"--bounding-set={bounding}", "--inh-caps=-all"]
    command += container["command"]
    script = " && ".join([*mounts(manifest, spec, container, image, node), "exec " + shlex.join(command)])
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "VMWSS_TEST_RUN": os.environ.get("VMWSS_TEST_RUN", "")}
    arguments = ["unshare", "--mount", "--propagation", "private", "--", "sh", "-c", script]
    os.execvpe(arguments[0], arguments, environment)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["check", path]:
            sys.exit(check(path))
        case ["run", path, name, image, node]:
            run(path, name, image, node)
        case _:
            sys.exit(__doc__)
