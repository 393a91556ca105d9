// Elements of several views: a token that links to its forest, and a field with its label.

import { h, speak } from './dom.js';

export function tokenLink(app, token) {
  if (token.id === null) return h('bdi', { className: 'mono' }, token.shown);
  return h('button', { type: 'button', className: 'link', 'aria-label': `${speak(token.shown)}, id ${token.id}`, onclick: () => app.open('forest', { id: token.id }) }, h('bdi', { className: 'mono' }, token.shown), ` ${token.id}`);
}

export function field(label, attributes, note) {
  const id = `field-${attributes.name}`;
  return h('span', { className: 'field' }, h('label', { htmlFor: id }, label), h('input', { id, ...attributes }), note ? h('span', { className: 'dim' }, note) : null);
}
