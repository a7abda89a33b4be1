'use strict';
// The page of a trace. Its state is one number, the step; show draws everything from it.
const data = JSON.parse(document.getElementById('trace').textContent);
const trace = data.sides ? data.sides[0] : data;
const $ = id => document.getElementById(id);
const steps = trace.steps;
let at = -1;

// node makes an element with a class and children, which are nodes or texts.
function node(name, className, ...children) {
  const e = document.createElement(name);
  if (className) e.className = className;
  e.append(...children.filter(c => c !== undefined && c !== ''));
  return e;
}

// hidden makes a text that only a screen reader tells.
const hidden = text => node('span', 'hidden', text);

// items fills a list. A change is marked by a sign, a colour and a word.
function items(list, changes, empty) {
  const marks = { new: ['+', 'new: '], gone: ['−', 'removed: '], changed: ['±', 'changed: '], same: [' ', ''] };
  list.replaceChildren(...changes.map(([kind, text, was]) => {
    const sign = node('span', 'sign', marks[kind][0]);
    sign.setAttribute('aria-hidden', 'true');
    return node('li', kind, sign, hidden(marks[kind][1]),
      kind === 'gone' ? node('del', '', text) : node('span', '', text), was ? node('span', 'was', ' was @' + was) : '');
  }));
  if (changes.length === 0) list.append(node('li', 'none', empty));
}

// compared says which lines are new, gone or as they were, by the part of a line before a mark.
function compared(before, after, mark) {
  const key = line => line.split(mark)[0];
  const rest = line => line.slice(key(line).length + 1);
  const old = new Map(before.map(line => [key(line), rest(line)]));
  const out = after.map(line => {
    const k = key(line), was = old.get(k);
    old.delete(k);
    if (was === undefined) return ['new', line];
    return was === rest(line) ? ['same', line] : ['changed', line, mark === '@' ? was : ''];
  });
  return [...out, ...before.filter(line => old.has(key(line))).map(line => ['gone', line])];
}

function showLines(step) {
  const line = (text, cls) => node('span', cls, text + '\n');
  $('lines').replaceChildren(line(step.text[0], 'said'), ...step.text.slice(1).map(t => line('    ' + t, 'said')),
    ...step.came.map(t => line(t, t[0] === '!' ? 'fault' : 'came')));
  $('note').textContent = step.note || '';
  $('note').hidden = !step.note;
}

// show goes to a step. The first step is 0.
function show(n, scroll) {
  n = Math.max(0, Math.min(steps.length - 1, n));
  if (n === at) return;
  at = n;
  const step = steps[n], before = steps[n - 1];
  $('slider').value = n + 1;
  $('slider').setAttribute('aria-valuetext', `step ${n + 1}: ${step.text[0]}`);
  $('count').textContent = `${n + 1} / ${steps.length}`;
  $('clock').textContent = 'at ' + step.at;
  $('first').disabled = $('back').disabled = n === 0;
  $('last').disabled = $('next').disabled = n === steps.length - 1;
  $('said').textContent = `Step ${n + 1} of ${steps.length}, at ${step.at}: ${step.text[0]}. ${draw(step, before, scroll)}`;
  history.replaceState(null, '', '#' + (n + 1));
}

// bind attaches the controls.
function bind() {
  $('first').onclick = () => show(0, true);
  $('back').onclick = () => show(at - 1, true);
  $('next').onclick = () => show(at + 1, true);
  $('last').onclick = () => show(steps.length - 1, true);
  $('slider').max = steps.length;
  $('slider').oninput = e => show(e.target.value - 1, true);
  const keys = { ArrowRight: () => at + 1, ArrowLeft: () => at - 1, Home: () => 0, End: () => steps.length - 1 };
  addEventListener('keydown', e => {
    if (!keys[e.key] || e.altKey || e.ctrlKey || e.metaKey || e.target.matches('input')) return;
    e.preventDefault();
    show(keys[e.key](), true);
  });
  addEventListener('hashchange', () => show(parseInt(location.hash.slice(1), 10) - 1 || 0, true));
}

addEventListener('DOMContentLoaded', () => {
  $('failure').hidden = !trace.failure;
  const diff = $('failure').querySelector('pre'), mark = { '-': 'gone', '+': 'new' };
  diff.append(...(trace.failure || '').split('\n').map(line => node('span', /^[+-][>=!~]/.test(line) ? mark[line[0]] : '', line + '\n')));
  begin();
  bind();
  show(parseInt(location.hash.slice(1), 10) - 1 || trace.differs, true);
  const first = diff.querySelector('.gone, .new');
  if (!first) return;
  diff.scrollTop = first.offsetTop - diff.offsetTop - 3 * first.offsetHeight; // three lines above it
  first.scrollIntoView({ block: 'nearest' });
});
