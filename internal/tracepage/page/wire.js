// The wire: a row for each mark, between the lane of the client and that of the server.

function drawWire() {
  let last = '';
  for (const m of trace.marks) {
    if (m.kind === 'phase') continue;
    const time = node('span', 'time', m.at === last ? '' : m.at);
    const way = { server: 'client to server: ', client: 'server to client: ' }[m.to] || '';
    const label = node('span', 'label', hidden(way), node('b', '', m.text), m.detail ? ' ' : '', node('code', '', m.detail || ''));
    const button = node('button', '', time, node('span', 'lane', label, node('span', 'shaft')));
    button.type = 'button';
    button.onclick = () => show(m.step, false);
    const li = node('li', [m.kind, m.to ? 'to-' + m.to : 'stays', m.fault ? 'fault' : '', m.at === last ? '' : 'later'].filter(Boolean).join(' '), button);
    li.dataset.step = m.step;
    last = m.at;
    $('wire').append(li);
  }
}

// showWire marks the rows of a step, and dims those that are still to come. It brings the rows of the
// step into sight, or the last one before them; above all their end, which is the outcome.
function showWire(n, scroll) {
  let first, last;
  for (const li of $('wire').children) {
    const of = Number(li.dataset.step), now = of === n;
    li.classList.toggle('now', now);
    li.classList.toggle('future', of > n);
    if (now) li.firstChild.setAttribute('aria-current', 'step');
    else li.firstChild.removeAttribute('aria-current');
    if (of <= n) first = now && first && Number(first.dataset.step) === n ? first : li;
    if (of <= n) last = li;
  }
  if (!scroll || !first) return;
  const list = $('wire'), end = last.offsetTop + last.offsetHeight;
  list.scrollTop = Math.max(first.offsetTop - list.clientHeight / 3, end - list.clientHeight);
  // On a telephone, the page scrolls, the controls are at the bottom, and the step stays at the top.
  const below = (data.sides ? $('sides') : last).getBoundingClientRect().bottom + 80 - innerHeight;
  if (n > 0 && below > 0) scrollBy(0, Math.min(below, document.querySelector('.step').getBoundingClientRect().top));
}
