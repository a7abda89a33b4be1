"""Keeps the ConfigMaps of a server by a SharedInformer, for test/conformance/peers.

Package digest there says what is printed.
"""

import hashlib
import time

from kubernetes import client, config
from kubernetes.informer import SharedInformer


def line(held):
    objects = [c for c in held if not c.metadata.name.startswith("poison")]
    objects.sort(key=lambda c: (c.metadata.namespace, c.metadata.name))
    total = hashlib.sha256()
    for c in objects:
        for text in (c.metadata.namespace, c.metadata.name):
            total.update(text.encode() + b"\0")
        data = c.data if isinstance(c.data, dict) else {}
        for key in sorted(data):
            total.update(key.encode() + b"\0" + data[key].encode() + b"\0")
        total.update(b"\n")
    return f"{len(objects)} {total.hexdigest()[:16]}"


def main():
    config.load_kube_config()
    informer = SharedInformer(list_func=client.CoreV1Api().list_config_map_for_all_namespaces)
    informer.start()
    last = ""
    while True:
        now = line(informer.cache.list())
        if now != last:
            print(now, flush=True)
            last = now
        time.sleep(0.1)


if __name__ == "__main__":
    main()
