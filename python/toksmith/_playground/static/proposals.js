// What a view can be looked at with: pieces and tokens of the text, from which one is chosen where nobody chose.

import { ask } from './api.js';
import { h } from './dom.js';

const NEAR = 2000; // characters of the text
const TABS = ['merges', 'forest', 'vocabulary'];

export class Proposals {
  constructor(app) {
    this.app = app;
    this.elements = new Map(TABS.map((tab) => [tab, h('p', { className: 'group proposals', role: 'group', 'aria-label': 'From the text' })]));
    this.about = null;
    this.found = null;
  }

  // Before a view is drawn: the chips, and a choice where there is none.
  async prepare(tab) {
    if (!TABS.includes(tab)) return;
    const { app } = this;
    const { state } = app;
    const text = state.text.slice(0, NEAR);
    const about = JSON.stringify([text, state.toks[state.which]]);
    if (about !== this.about) {
      try {
        this.found = await ask('proposed', null, { ...app.one(), text }, { quiet: true });
        this.about = about;
      } catch {
        return;
      }
    }
    const { pieces, tokens } = this.found;
    if (tab === 'merges') state.piece ??= pieces[0]?.piece ?? null;
    if (tab === 'forest') state.id ??= tokens[0]?.id ?? null;
    if (tab === 'vocabulary' && state.query === null) state.query = tokens.find((token) => token.text)?.text.trim() ?? '';
    this.draw(tab);
  }

  draw(tab) {
    const { app } = this;
    const { pieces, tokens } = this.found;
    const chip = (shown, said, onclick) => h('button', { type: 'button', className: 'chip', title: said, onclick }, h('bdi', { className: 'mono' }, shown));
    const made = {
      merges: () => pieces.map(({ shown, piece }) => chip(shown, 'Play this piece', () => app.set({ piece, step: 0 }))),
      forest: () => tokens.map(({ shown, id }) => chip(shown, `id ${id}`, () => app.open('forest', { id }))),
      vocabulary: () => tokens.filter((token) => token.text?.trim()).map(({ shown, text }) => chip(shown, 'Search for it', () => app.set({ query: text.trim(), by: 'text' }))),
    }[tab]();
    this.elements.get(tab).replaceChildren(...(made.length ? [h('span', { className: 'dim' }, 'from the text '), ...made] : []));
  }
}
