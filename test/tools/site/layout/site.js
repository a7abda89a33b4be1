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
  document.querySelector('#menu [aria-current]')?.scrollIntoView({ block: 'nearest' });
});
addEventListener('keydown', e => {
  if (e.key !== '/' || e.target.matches('input')) return;
  e.preventDefault();
  document.querySelector('.site input').focus();
});
