// Proposals for a view: pieces and tokens of the text; the first is chosen unless the user chooses.

import { ask } from './api.js';
import { h, speak } from './dom.js';

const NEAR = 2000; // characters of the text

export class Proposals {
  constructor(app, views) {
    this.app = app;
    this.elements = new Map(views.filter((view) => view.proposes).map((view) => [view.name, h('p', { className: 'group proposals', role: 'group', 'aria-label': 'From the text' })]));
    this.about = null;
    this.found = null;
  }

  // Before a view is drawn: the chips, and a choice if there is none.
  async prepare({ name, proposes }) {
    if (!proposes) return;
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
    proposes.choose(this.found, state);
    const chip = (shown, said, onclick) => h('button', { type: 'button', className: 'chip', title: said, 'aria-label': `${speak(shown)}: ${said}`, onclick }, h('bdi', { className: 'mono' }, shown));
    const made = proposes.chips(this.found, app, chip);
    this.elements.get(name).replaceChildren(...(made.length ? [h('span', { className: 'dim' }, 'from the text '), ...made] : []));
  }
}
