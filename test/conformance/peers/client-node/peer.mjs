// Keeps the ConfigMaps of a server by an informer, for test/conformance/peers. Package digest there says what is printed.

import { createHash } from 'node:crypto';
import { CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node';

const config = new KubeConfig();
config.loadFromDefault();
const api = config.makeApiClient(CoreV1Api);
const informer = makeInformer(config, '/api/v1/configmaps', () => api.listConfigMapForAllNamespaces());

// An informer stops at its first error. The library's example of informers starts it again like this.
informer.on('error', (err) => {
    console.error(err);
    setTimeout(() => informer.start(), 5000);
});
informer.start();

const compare = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));

function line(held) {
    const objects = held.filter((c) => !c.metadata.name.startsWith('poison'));
    objects.sort((a, b) => compare(a.metadata.namespace, b.metadata.namespace) || compare(a.metadata.name, b.metadata.name));
    const sum = createHash('sha256');
    for (const c of objects) {
        sum.update(`${c.metadata.namespace}\0${c.metadata.name}\0`);
        for (const key of Object.keys(c.data ?? {}).sort(compare)) {
            sum.update(`${key}\0${c.data[key]}\0`);
        }
        sum.update('\n');
    }
    return `${objects.length} ${sum.digest('hex').slice(0, 16)}`;
}

let last = '';
setInterval(() => {
    const now = line(informer.list());
    if (now !== last) {
        console.log(now);
        last = now;
    }
}, 100);
