// The page of two runs of one file: what each client makes of the same lines of the server.

// acts says what a client does in a step, in words.
function acts(side, n) {
  const step = side.steps[n];
  if (step.unasked) return ['is not sent this line: ' + step.unasked];
  const verbs = { request: 'asks for a', end: 'ends the request:', pop: 'tells its program:', backoff: 'waits:', note: 'says:', ping: 'sends a' };
  const did = side.marks.filter(m => m.step === n && m.to !== 'client' && m.kind in verbs).map(m => `${verbs[m.kind]} ${m.text} ${m.detail || ''}`);
  if (step.state && step.state.resume !== side.steps[n - 1]?.state?.resume) did.push('has everything up to version ' + step.state.resume);
  if (did.length === 0) did.push(step.text[0].startsWith('< ') ? 'is sent this line, and does nothing more' : 'does nothing');
  return did;
}

// held compares what a client has with what the server has.
function held(step) {
  const versions = lines => new Map((lines || []).map(line => line.split('@')));
  const has = versions(step.store), server = versions(step.server);
  const rows = [...has].map(([key, version]) => {
    const now = server.get(key);
    if (now === version) return node('li', '', `${key}@${version}`);
    return node('li', now ? 'changed' : 'gone', `${key}@${version}`, node('b', '', now ? 'out of date' : 'kept: it was deleted'));
  });
  for (const [key, version] of server) if (!has.has(key)) rows.push(node('li', 'gone', `${key}@${version}`, node('b', '', 'missing')));
  return rows.length ? rows : [node('li', 'none', 'Nothing.')];
}

function draw(step, before, scroll) {
  showLines({ ...step, came: [] });
  $('mark').hidden = at !== data.mark;
  $('sides').replaceChildren(...data.sides.map(side => {
    const s = side.steps[at], list = (name, ...rows) => node('ul', name, ...rows);
    return node('section', '', node('h2', '', side.program), list('acts', ...acts(side, at).map(text => node('li', '', text))),
      node('h3', '', 'Holds'), list('items', ...held(s)), node('p', 'none', s.watches ? 'Its watch is open.' : 'It has no open watch.'));
  }));
  items($('server'), compared((before && before.server) || [], step.server || [], '@'), 'Nothing, as far as it has said.');
  showWire(at, scroll);
  const did = data.sides.map(side => acts(side, at).join(', '));
  explain([step.text[0], ...did].join());
  return data.sides.map((side, i) => `${side.program} ${did[i]}`).join('. ');
}

function begin() {
  $('verdict').textContent = data.verdict[0];
  $('right').textContent = data.verdict[1];
  $('to-mark').textContent = `Go to step ${data.mark + 1}: from there on they differ`;
  $('to-mark').hidden = data.mark < 0;
  $('to-mark').href = '#' + (data.mark + 1);
  steps.forEach((step, n) => {
    const asked = data.sides.filter(side => !side.steps[n].unasked);
    const only = ['neither asks', 'only ' + asked[0]?.program, ''][asked.length];
    const button = node('button', '', node('span', 'time', n && steps[n - 1].at === step.at ? '' : step.at),
      node('span', 'said', node('code', '', step.text[0].replace(/ {.*/, ' …')), only ? node('span', 'only', only) : '', n === data.mark ? node('b', '', 'they differ') : ''));
    button.type = 'button';
    button.onclick = () => show(n, false);
    const li = node('li', n === data.mark ? 'fault' : '', button);
    li.dataset.step = n;
    $('wire').append(li);
  });
}
