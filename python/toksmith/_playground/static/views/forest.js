// A token, its parts, and the tokens that are merged from it.

import { count, h, hexBytes, num, table } from '../dom.js';
import { field, tokenLink } from '../parts.js';

export const view = {
  name: 'forest', label: 'Forest', one: true,
  proposes: {
    choose({ tokens }, state) { state.id ??= tokens[0]?.id ?? null; },
    chips: ({ tokens }, app, chip) => tokens.map(({ shown, id }) => chip(shown, `id ${id}`, () => app.open('forest', { id }))),
  },
  empty: 'Choose a token, or enter its id.',
  controls: (app) => [field('Token id', { name: 'id', type: 'number', min: 0, value: app.state.id ?? '', oninput: (event) => app.set({ id: event.target.value === '' ? null : Math.max(0, Math.floor(Number(event.target.value))) }) })],
  ask: (app) => (app.state.id === null ? null : ['tree', null, { id: app.state.id }]),
  draw(tree, app) {
    const node = (place, levels) => {
      const { shown, id, rank, left, right } = tree.nodes[place];
      const said = [id === tree.id ? h('strong', { className: 'mono' }, h('bdi', {}, shown), ` ${id}`) : tokenLink(app, { shown, id }), rank === null ? h('span', { className: 'dim' }, ' no merge') : h('span', { className: 'dim' }, ` rank ${num(rank)}`)];
      if (left === null) return h('li', {}, said);
      if (levels === 0) return h('li', {}, said, ' …');
      return h('li', {}, said, h('ul', {}, node(left, levels - 1), node(right, levels - 1)));
    };
    const total = tree.children_total ?? tree.children.length;
    const facts = tree.special ? 'a special token, which no merge makes' : `${count(tree.hex.length / 2, 'byte')}, depth ${tree.depth}, ${total ? `used in ${count(total, 'merge')}` : 'a leaf: no other token is made of it'}`;
    return [
      h('h3', {}, 'Token ', h('bdi', { className: 'mono' }, tree.shown), ` ${tree.id}`), h('p', {}, facts, '; ', h('span', { className: 'mono' }, hexBytes(tree.hex.slice(0, 96)))),
      tree.is_derivable || tree.special ? null : h('p', { className: 'warn' }, 'Merging alone does not make it: it comes only from the whole-piece lookup.'),
      h('ul', { className: 'forest' }, tree.roots.map((root) => node(root, 30))),
      tree.children.length ? table(['id', 'token', 'merges'], tree.children.slice(0, 100).map((use) => [String(use.id), tokenLink(app, use), `${use.left} + ${use.right}`]), `Used to build${total > 100 ? ` (the first 100 of ${num(total)})` : ''}`) : null,
    ];
  },
};
