'use strict';
// A page inside another shows the trace alone.
if (self !== top) document.documentElement.classList.add('embedded');
addEventListener('DOMContentLoaded', () => {
  for (const pre of document.querySelectorAll('.document pre')) {
    const button = Object.assign(document.createElement('button'), { type: 'button', className: 'copy', textContent: 'Copy' });
    button.onclick = async () => {
      await navigator.clipboard.writeText(pre.textContent);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    };
    const box = Object.assign(document.createElement('div'), { className: 'code' });
    pre.replaceWith(box);
    box.append(pre, button);
  }
  // On a telephone, a row of a table with prose is a block, in which each cell has the name of its column.
  for (const table of document.querySelectorAll('.document table')) {
    const cells = [...table.querySelectorAll('td')];
    for (const td of cells) td.dataset.name = table.rows[0].cells[td.cellIndex].textContent;
    table.classList.toggle('prose', cells.some(td => td.textContent.length > 30));
  }
  document.getElementById('contents')?.addEventListener('click', e => e.currentTarget.hidePopover());
  document.getElementById('menu').scrollTop = (document.querySelector('#menu [aria-current]')?.offsetTop ?? 0) - innerHeight / 2;
});
addEventListener('keydown', e => {
  if (e.key !== '/' || e.target.matches('input')) return;
  e.preventDefault();
  document.querySelector('.site input').focus();
});
