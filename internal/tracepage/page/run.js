// The page of one run.
const noWatch = state => state.failing ? `no watch since ${state.failing} on the clock` : 'no';
const keys = state => (state.quarantine || []).join(', ') || 'empty';

function showMachine(step, before) {
  const none = { phase: 'waiting', resume: '', quarantine: [] };
  const state = step.state || none, was = (before && before.state) || none;
  for (const g of document.querySelectorAll('.states [data-phase]')) {
    g.classList.toggle('lit', g.dataset.phase === state.phase);
  }
  const ways = new Set();
  for (const r of step.rows || []) if (r.from !== r.phase) ways.add(r.from + '>' + r.phase);
  for (const p of document.querySelectorAll('.states .way')) {
    p.classList.toggle('lit', ways.has(p.dataset.from + '>' + p.dataset.to));
  }
  const facts = [
    ['Phase', state.phase, was.phase],
    ['Resume version', state.resume || 'none', was.resume || 'none'],
    ['Backoff', state.backoff || 'none', was.backoff || 'none'],
    ['Failing', noWatch(state), noWatch(was)],
    ['Quarantine', keys(state), keys(was), ((was.quarantine || []).length || 'empty')],
    ['Synced', state.synced ? 'yes' : 'no', was.synced ? 'yes' : 'no'],
  ];
  $('facts').replaceChildren(...facts.map(([name, value, old, shortly]) => {
    const changed = before && value !== old;
    return node('div', changed ? 'changed' : '', node('dt', '', name),
      node('dd', '', value, changed ? node('span', 'was', ' was ' + (shortly || old)) : ''));
  }));
  const rows = step.rows || [];
  if (rows.length === 0) {
    $('why').replaceChildren(node('p', 'none', 'The machine does nothing in this step.'));
    return;
  }
  const head = node('tr', '', ...['input', 'next', 'effects'].map(text => node('th', '', text)));
  const body = rows.map(r => node('tr', '',
    cell('input', node('span', 'from', r.from + ': '), r.in), cell('next', r.next), cell('effects', r.fx || 'none')));
  for (const th of head.children) th.scope = 'col';
  const caption = node('caption', 'hidden', 'What the machine got in this step, and what it did');
  $('why').replaceChildren(node('table', '', caption, node('thead', '', head), node('tbody', '', ...body)));
}

function cell(name, ...children) {
  const td = node('td', '', ...children);
  td.dataset.name = name;
  return td;
}

// draw shows a step, and returns what a screen reader tells of it.
function draw(step, before, scroll) {
  showLines(step);
  if (trace.machine) {
    showMachine(step, before);
    items($('queue'), compared((before && before.queue) || [], step.queue || [], ' '), 'The queue is empty.');
  }
  items($('store'), compared((before && before.store) || [], step.store || [], '@'), 'The store is empty.');
  items($('calls'), step.calls.map(c => [c.startsWith('no callback') ? 'same' : 'new', c]), 'None in this step.');
  explain($('facts').textContent + JSON.stringify(step.rows));
  showWire(at, scroll);
  return (step.rows || []).map(r => `${r.in}: ${r.next}. ${r.fx}`).join('. ') || step.came.join('. ');
}

// begin draws what is the same in all steps.
function begin() {
  $('machine').hidden = $('queue-box').hidden = !trace.machine;
  $('store-box').hidden = !steps.some(s => s.store);
  $('calls-box').hidden = !steps.some(s => s.calls.length);
  drawWire();
}
