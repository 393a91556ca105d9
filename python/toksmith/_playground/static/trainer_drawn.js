// The drawings of the live trainer for one size.

import { bar, chips, count, h, num } from './dom.js';

const WIDE = 640;
const HIGH = 120;
const MOST_NODES = 150; // of a tree
export const figure = (value) => (value === null || !Number.isFinite(value) ? '–' : value.toFixed(2));

function svg(tag, attributes, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Bytes per token by size, on the logarithmic scale of the slider.
export class Curve {
  constructor() {
    this.line = svg('polyline', { class: 'curve' });
    this.mark = svg('line', { class: 'mark', y1: 0, y2: HIGH });
    this.dot = svg('line', { class: 'dot' }); // no length: round ends keep their shape when the picture is stretched
    this.picture = svg('svg', { viewBox: `-6 -6 ${WIDE + 12} ${HIGH + 12}`, role: 'img', preserveAspectRatio: 'none' }, this.mark, this.line, this.dot);
    this.ends = h('p', { className: 'curve-ends dim' });
    this.element = h('figure', { className: 'train-curve' }, h('figcaption', {}, 'Bytes per token by vocabulary size'), this.picture, this.ends);
  }

  take({ least, most, curve, bytes }) {
    const values = curve.map(([size, tokens]) => [size, bytes / tokens]);
    const top = values[values.length - 1][1];
    this.x = (size) => (most > least ? (WIDE * Math.log(size / least)) / Math.log(most / least) : 0);
    this.y = (value) => (top > 1 ? HIGH * (1 - (value - 1) / (top - 1)) : HIGH);
    this.line.setAttribute('points', values.map(([size, value]) => `${this.x(size).toFixed(1)},${this.y(value).toFixed(1)}`).join(' '));
    this.picture.setAttribute('aria-label', `From ${figure(values[0][1])} at ${count(least, 'token')} to ${figure(top)} at ${num(most)}`);
    this.ends.replaceChildren(h('span', {}, `${num(least)}: ${figure(values[0][1])}`), h('span', {}, `${num(most)}: ${figure(top)}`));
  }

  show(size, value) {
    const at = this.x(size);
    this.mark.setAttribute('x1', at);
    this.mark.setAttribute('x2', at);
    for (const end of ['1', '2']) {
      this.dot.setAttribute(`x${end}`, at);
      this.dot.setAttribute(`y${end}`, this.y(value));
    }
  }
}

// Buttons that choose the token whose tree is drawn.
export function tokenButtons(tokens, choose, label, title = (token) => `id ${token.id}`) {
  return chips(tokens, { onclick: ({ id }) => choose(id), label, title });
}

export function languageRows(languages, most) {
  const rows = languages.map((each) => h('tr', {}, h('th', { scope: 'row' }, h('bdi', {}, each.name)),
    h('td', {}, h('span', { className: 'with-bar' }, bar(most ? (each.per_word ?? 0) / most : 0), figure(each.per_word))),
    h('td', { className: 'figure' }, figure(each.bytes / each.tokens)), h('td', { className: 'figure' }, num(each.tokens))));
  return h('div', { className: 'scroll' }, h('table', { className: 'train-languages' },
    h('thead', {}, h('tr', {}, ['text', 'tokens per word', 'bytes per token', 'tokens'].map((head) => h('th', { scope: 'col' }, head)))), h('tbody', {}, rows)));
}

export function treeOf(tree, choose) {
  let drawn = 0;
  const node = (place) => {
    const { shown, id, rank, left, right } = tree.nodes[place];
    drawn += 1;
    const said = [h('button', { type: 'button', className: 'link', onclick: () => choose(id) }, h('bdi', { className: 'mono' }, shown), ` ${id}`), h('span', { className: 'dim' }, rank === null ? '' : ` merge ${num(rank + 1)}`)];
    if (left === null) return h('li', {}, said);
    return h('li', {}, said, drawn < MOST_NODES ? h('ul', {}, node(left), node(right)) : ' …');
  };
  const uses = tree.children_total ?? tree.children.length;
  return [
    h('h3', {}, 'Forest: ', h('bdi', { className: 'mono' }, tree.shown), ` ${tree.id}`),
    h('p', { className: 'dim' }, `${count(tree.hex.length / 2, 'byte')}, depth ${tree.depth}; at this size ${uses ? `used to build ${count(uses, 'token')}` : 'no other token is built from it'}.`),
    h('ul', { className: 'forest' }, tree.roots.map(node)),
    uses ? tokenButtons(tree.children.slice(0, 24), choose, 'Built from it') : null,
  ];
}
