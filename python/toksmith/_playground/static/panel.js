// A view in the panel that is a request and its answer.

import { ask } from './api.js';
import { h } from './dom.js';
import { latest } from './latest.js';

// A view in the panel: requests again when its inputs have changed.
export class ViewPanel {
  constructor(view, app) {
    this.view = view;
    this.app = app;
    this.controls = h('div', { className: 'controls' });
    this.answer = h('div', { className: 'answer' });
    this.extra = h('div');
    this.element = h('div', {}, this.controls, this.answer, this.extra);
    this.about = null;
    this.load = latest((again, signal) => this.fetch(again, signal));
  }

  refresh() {
    const { app, view } = this;
    const about = `${app.state.toks.join('\n')} ${app.state.which}`;
    if (this.about !== about || view.follows || !this.controls.contains(document.activeElement)) {
      if (!this.controls.contains(document.activeElement)) this.controls.replaceChildren(...(view.controls?.(app) ?? []).flat());
      if (view.more && this.about !== about) this.extra.replaceChildren(view.more(app));
      this.about = about;
    }
    return this.load();
  }

  question() {
    const asked = this.view.ask(this.app);
    if (!asked) return null;
    const [name, text, values] = asked;
    return [name, text, { ...(this.view.one ? this.app.one() : this.app.params()), ...values }];
  }

  async fetch(again, signal) {
    const asked = this.question();
    if (!asked) {
      this.answer.replaceChildren(h('p', { className: 'dim' }, this.view.empty));
      return;
    }
    try {
      const found = await ask(...asked, { signal });
      if (!again()) this.answer.replaceChildren(...this.view.draw(found, this.app).flat(2).filter(Boolean));
    } catch (problem) {
      if (!again()) this.answer.replaceChildren(h('p', { className: 'bad' }, problem.message));
    }
  }
}
