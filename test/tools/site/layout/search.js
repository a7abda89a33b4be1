'use strict';
// The results of the search. The words are in the address, so it can be sent.
const box = document.querySelector('.site input');
const index = new MiniSearch({
  fields: ['t', 'h', 'c', 'x'], idField: 'u', storeFields: ['t', 'h', 'x'],
  searchOptions: { boost: { t: 4, h: 6, c: 1.5 }, prefix: true, fuzzy: word => word.length > 5 ? 0.15 : 0, combineWith: 'AND',
    boostDocument: (id, word, stored) => stored.h === 'a trace' ? 0.05 : /^test/.test(id) ? 0.4 : 1 },
});
index.addAll(all);

// marked returns a text as nodes, in which the words that were found are marked.
const marked = (text, words) => text.split(words).map((part, i) => i % 2 === 0 ? part
  : Object.assign(document.createElement('mark'), { textContent: part }));

function search() {
  const found = index.search(box.value);
  document.getElementById('found').textContent = box.value.trim() === '' ? 'Type a word above.'
    : found.length + (found.length === 1 ? ' place' : ' places') + (found.length > 40 ? ', of which these are the best 40' : '');
  if (box.value.trim() && found.length === 0) {
    document.getElementById('found').append(': look at the ', Object.assign(document.createElement('a'), { href: 'docs/index.html', textContent: 'map of all pages' }));
  }
  document.getElementById('results').replaceChildren(...found.slice(0, 40).map(({ id, t, h, x, terms }) => {
    const li = document.createElement('li'), link = Object.assign(document.createElement('a'), { href: id });
    const text = document.createElement('p'), any = '(' + terms.map(RegExp.escape).join('|') + ')', words = new RegExp(any, 'i');
    link.append(...marked(h ? t + ' › ' + h : t, words));
    text.append(...marked(x.match(new RegExp('(?:^|\\b.{0,80})' + any + '.{0,150}(?= |$)', 'i'))?.[0] || x.slice(0, 200), words));
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
