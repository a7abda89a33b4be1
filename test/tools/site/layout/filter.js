'use strict';
// Every word of the filter has to be in a trace's name, folder, program or purpose. The filter is in the address, so it can be sent.
const input = document.getElementById('filter');
const rows = [...document.querySelectorAll('#traces li')].map(li => [li, li.textContent.toLowerCase()]);
function filter() {
  const words = input.value.toLowerCase().split(/\s+/);
  let found = 0;
  for (const [li, text] of rows) {
    li.hidden = !words.every(word => text.includes(word));
    if (!li.hidden) found++;
  }
  for (const group of document.querySelectorAll('#traces section')) group.hidden = !group.querySelector('li:not([hidden])');
  document.getElementById('found').textContent = found + (found === 1 ? ' trace' : ' traces');
  history.replaceState(null, '', input.value ? '#' + encodeURIComponent(input.value) : location.pathname);
}
input.addEventListener('input', filter);
if (location.hash) {
  input.value = decodeURIComponent(location.hash.slice(1));
  filter();
}
