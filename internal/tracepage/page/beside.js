// The page of two runs of one file: what each client makes of the same lines of the server.

// acts says what a client does in a step, in words.
function acts(side, n) {
  const step = side.steps[n], resume = step.state?.resume;
  if (step.unasked) return ['is not sent this line: ' + step.unasked];
  const verbs = { request: 'asks for a', end: 'ends its request:', pop: 'tells its program:', backoff: 'waits:', note: 'says:', ping: 'sends a' };
  const did = side.marks.filter(m => m.step === n && m.to !== 'client' && m.kind in verbs).map(m => {
    const text = [verbs[m.kind], m.text, m.detail].filter(Boolean).join(' ').replace(': close by the client', '')
      .replace('watch resourceVersion=', 'watch from ').replace('list most recent', 'list of the most recent state').replace('list resourceVersion=0', 'list at 0 (any state will do)')
      .replace('list resourceVersion=', 'list not older than ').replace('limit=', 'in pages of ');
    const from = text.match(/watch from (\d+)/);
    return !from || !resume || from[1] === resume ? text : text + ', earlier than it needs, to see whether the server still has the same history';
  });
  if (resume && resume !== side.steps[n - 1]?.state?.resume) did.push('has everything up to version ' + resume);
  if (did.length === 0) did.push(step.text[0].startsWith('< ') ? 'is sent this line, and does nothing more' : 'does nothing');
  return did;
}

// request says which request of a client is open, and when a client without one asks again.
function request(side, n) {
  const step = side.steps[n], again = side.marks.find(m => m.kind === 'request' && m.step > n);
  const waits = step.open === 'it has no request open' && again;
  return `It${step.open.slice(2)}${waits ? ', and asks again at ' + again.at : ''}.`;
}

// held compares what a client's program knows with what the server has.
function held(step) {
  const versions = lines => new Map((lines || []).map(line => line.split('@')));
  const has = versions(step.store), server = versions(step.server);
  return [...has].map(([key, version]) => {
    const now = server.get(key);
    if (now === version) return node('li', '', `${key}@${version}`);
    return node('li', now ? 'changed' : 'gone', `${key}@${version}`, node('b', '', now ? 'out of date' : 'the server has deleted it'));
  });
}

function draw(step, before, scroll) {
  showLines({ ...step, came: [] });
  $('note').classList.toggle('here', at === data.mark);
  document.body.classList.toggle('between', at > 0 && at < steps.length - 1); // what went wrong is for the first and the last step
  $('sides').replaceChildren(...data.sides.map(side => {
    const s = side.steps[at], list = (name, ...rows) => node('ul', name, ...rows);
    const unknown = compared(s.store || [], s.server || [], '@').filter(([kind]) => kind === 'new').map(([, text]) => node('li', 'unknown', text));
    const objects = (title, rows) => rows.length ? [node('h3', '', title), list('items', ...rows)] : [];
    return node('section', '', node('h2', '', side.program), list('acts', ...acts(side, at).map(text => node('li', '', text))),
      ...objects('Its program knows', held(s)), ...objects('Its program does not know', unknown), node('p', 'none', request(side, at)));
  }));
  items($('server'), compared((before && before.server) || [], step.server || [], '@'), 'Nothing.');
  showWire(at, scroll);
  const did = data.sides.map(side => acts(side, at).join(', '));
  explain([step.text[0], ...did].join());
  return data.sides.map((side, i) => `${side.program} ${did[i]}`).join('. ');
}

function begin() {
  for (const step of data.sides.flatMap(side => side.steps)) {
    for (const of of ['store', 'server']) step[of] = step[of]?.map(line => line.replace(/^default\//, ''));
  }
  $('cause').replaceChildren(...trace.purpose.map(text => node('p', '', text)));
  $('verdict').textContent = data.verdict[0];
  $('verdict').className = data.lost ? 'lost' : 'costs';
  $('right').textContent = data.verdict[1];
  $('requests').textContent = data.requests;
  $('to-mark').textContent = `Go to step ${data.mark + 1}: where it goes wrong`;
  $('to-mark').hidden = data.mark < 0;
  $('to-mark').href = '#' + (data.mark + 1);
  // The damage: the first step from which on, to the end, the program has something else than the server.
  const has = objects => [...(objects || [])].sort().join();
  const damage = data.lost ? Math.max(data.mark, steps.findLastIndex(step => has(step.store) === has(step.server)) + 1) : data.mark;
  steps.forEach((step, n) => {
    const asked = data.sides.filter(side => !side.steps[n].unasked);
    const only = ['neither asks', 'only ' + asked[0]?.program, ''][asked.length];
    const button = node('button', '', node('span', 'time', n && steps[n - 1].at === step.at ? '' : step.at),
      node('span', 'said', node('code', '', step.text[0].replace(/ {.*/, ' …')), ' ', only ? node('span', 'only side' + data.sides.indexOf(asked[0]), only) : '', ' ', n === data.mark ? node('b', '', 'here') : n === damage ? node('b', '', 'wrong from here on') : ''));
    button.type = 'button';
    button.onclick = () => show(n, false);
    const li = node('li', n === data.mark || n === damage ? 'fault' : '', button);
    li.dataset.step = n;
    $('wire').append(li);
  });
}
