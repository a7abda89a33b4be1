'use strict';
// The results of the search. The words are in the address, so it can be sent.
const box = document.querySelector('.site input');
const index = new MiniSearch({
  fields: ['t', 'h', 'x'], idField: 'u', storeFields: ['t', 'h', 'x'],
  searchOptions: { boost: { t: 4, h: 3 }, prefix: true, fuzzy: word => word.length > 5 ? 0.15 : 0, combineWith: 'AND',
    boostDocument: (id, word, stored) => stored.h === 'a trace' ? 0.3 : 1 },
});
index.addAll(all);

// marked returns a text as nodes, in which the words that were found are marked.
function marked(text, found) {
  const words = found.map(word => word.replace(/[^\p{L}\p{N}]/gu, '\\$&')).join('|');
  return text.split(new RegExp(`(${words})`, 'iu')).map((part, i) => {
    if (i % 2 === 0) return part;
    return Object.assign(document.createElement('mark'), { textContent: part });
  });
}

// about returns the words around the first one that was found.
function about(text, found) {
  const at = Math.max(0, Math.min(...found.map(word => text.toLowerCase().indexOf(word)).filter(i => i >= 0), text.length) % text.length || 0);
  const from = text.lastIndexOf(' ', Math.max(0, at - 70)) + 1;
  return (from > 0 ? '… ' : '') + text.slice(from, from + 200) + (from + 200 < text.length ? ' …' : '');
}

function search() {
  const found = index.search(box.value);
  document.getElementById('found').textContent = box.value.trim() === '' ? 'Type a word above.'
    : found.length + (found.length === 1 ? ' place' : ' places') + (found.length > 40 ? ', of which these are the best 40' : '');
  document.getElementById('results').replaceChildren(...found.slice(0, 40).map(({ id, t, h, x, terms }) => {
    const li = document.createElement('li'), link = Object.assign(document.createElement('a'), { href: id });
    const text = document.createElement('p');
    link.append(...marked(h ? t + ' › ' + h : t, terms));
    text.append(...marked(about(x, terms), terms));
    li.append(link, text);
    return li;
  }));
  history.replaceState(null, '', box.value ? '?q=' + encodeURIComponent(box.value) : location.pathname);
}
box.addEventListener('input', search);
box.form.addEventListener('submit', e => {
  e.preventDefault();
  document.querySelector('#results a')?.focus();
});
box.value = new URLSearchParams(location.search).get('q') || '';
box.focus();
if (box.value) search();
