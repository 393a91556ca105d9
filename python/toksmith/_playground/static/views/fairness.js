// The cost of the same text in each language: a strip for each tokenizer, all on one scale.

import { ask } from '../api.js';
import { count, h, num, say, table } from '../dom.js';
import { latest } from '../latest.js';

const ROW = 28; // pixels of a row of labels
const LETTER = 7.6; // pixels of a letter of a label, on average
const MARKS = [0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30];
const MOST_BYTES = 20_000_000;

class FairnessPanel {
  constructor(app) {
    this.app = app;
    this.texts = null; // the opened files; null for the sentences of the page
    this.asked = '';
    this.found = null;
    this.input = h('input', { type: 'file', multiple: true, hidden: true, id: 'fair-files', accept: '.txt', 'aria-label': 'Open parallel texts', onchange: () => this.open([...this.input.files]) });
    this.reset = h('button', { type: 'button', hidden: true, onclick: () => { this.texts = null; this.reset.hidden = true; this.tell(''); this.load(); } }, 'Back to the sentences of the page');
    this.state = h('p', { className: 'dim', id: 'fair-state' });
    this.answer = h('div', { className: 'answer' });
    this.element = h('div', {},
      h('div', { className: 'controls' }, h('button', { type: 'button', onclick: () => this.input.click() }, 'Open parallel texts …'), this.input, this.reset,
        h('span', { className: 'dim' }, 'the same text in several languages, a file each, named after its language')),
      this.state, this.answer);
    this.load = latest((again, signal) => this.fetch(again, signal));
    new ResizeObserver(() => { if (this.found && this.wide !== this.width()) this.show(); }).observe(this.element);
  }

  width() {
    return Math.max(240, Math.round(this.answer.clientWidth));
  }

  refresh() {
    return this.load();
  }

  question() {
    const values = { ...this.app.params(), reference: this.app.state.fairReference };
    return ['fairness', null, this.texts ? { ...values, texts: this.texts } : values];
  }

  tell(words, looks = 'dim') {
    this.state.className = looks;
    this.state.textContent = words;
    if (words) say(words);
  }

  async open(files) {
    this.input.value = '';
    if (!files.length) return;
    const size = files.reduce((sum, file) => sum + file.size, 0);
    if (size > MOST_BYTES) {
      this.tell(`The files have ${num(size)} bytes; the page takes at most ${num(MOST_BYTES)}. Use \`toksmith compare\` instead.`, 'bad');
      return;
    }
    const texts = {};
    let replaced = 0;
    for (const file of files) {
      const name = file.name.replace(/\.[^.]*$/, '') || file.name;
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(await file.arrayBuffer());
      replaced += text.includes('\ufffd') ? 1 : 0;
      texts[name] = text.replace(/\n$/, '');
    }
    this.texts = texts;
    this.asked = '';
    this.reset.hidden = false;
    this.tell(`${count(files.length, 'file')} opened${replaced ? `; ${num(replaced)} not wholly UTF-8` : ''}`, replaced ? 'warn' : 'dim');
    await this.load();
  }

  async fetch(again, signal) {
    const question = this.question();
    const about = JSON.stringify([question[2].tokenizers, question[2].reference, this.texts && Object.keys(this.texts)]);
    if (about === this.asked && this.found) return; // it does not depend on the text of the page
    try {
      const found = await ask(...question, { signal });
      if (again()) return;
      Object.assign(this, { found, asked: about });
      this.show();
    } catch (problem) {
      if (again()) return;
      Object.assign(this, { found: null, asked: '' });
      this.answer.replaceChildren(h('p', { className: 'bad' }, problem.message));
    }
  }

  show() {
    this.wide = this.width();
    this.answer.replaceChildren(...this.draw(this.found).flat().filter(Boolean));
  }

  draw(found) {
    const rows = found.tokenizers;
    const premiums = rows.flatMap((row) => row.languages.map((each) => each.premium)).filter((value) => value > 0);
    const figure = (value, digits = 2) => (value === null ? '–' : value.toFixed(digits));
    const names = rows[0].languages.map((each) => each.name);
    const reference = h('select', { id: 'fair-reference', onchange: (event) => this.app.set({ fairReference: event.target.value }) }, [...names].sort().map((name) => h('option', { value: name, selected: name === found.reference }, name)));
    const dearest = (row) => row.languages.reduce((one, other) => (other.tokens > one.tokens ? other : one));
    return [
      h('p', { className: 'controls' }, h('span', { className: 'field' }, h('label', { htmlFor: 'fair-reference' }, 'Relative to'), reference)),
      found.warnings.map((warning) => h('p', { className: 'warn' }, warning)),
      premiums.length ? this.strips(found, Math.min(1, ...premiums), Math.max(1, ...premiums)) : h('p', { className: 'warn' }, 'The texts have no tokens to compare.'),
      table(['tokenizer', 'Gini', 'dearest', 'times', 'over 2 times'], rows.map((row) => [row.tokenizer, h('strong', {}, figure(row.gini, 3)), h('bdi', {}, dearest(row).name), figure(dearest(row).premium), row.languages.filter((each) => each.premium > 2).length]), 'How unequal it is (Gini coefficient; 0: all languages pay the same)'),
      table(['language', ...rows.map((row) => row.tokenizer)], names.map((name, at) => [h('bdi', {}, name), ...rows.map(({ languages: all }) => (all[at].premium === null ? '–' : `${figure(all[at].premium)} (${Math.round(100 * all[at].cost)} %)`))]), `Tokens relative to ${found.reference}, and to the dearest language`),
      h('p', { className: 'dim' }, this.texts ? 'It does not show whether the texts have the same meaning.' : 'Four sentences, written for this page, show the order of magnitude. Open longer parallel texts of your own for figures that hold.'),
    ];
  }

  // One strip for each tokenizer; on the logarithmic scale, equal ratios have equal distances.
  strips(found, least, most) {
    const wide = this.wide - 8;
    const low = Math.log(least * 0.95);
    const high = Math.log(Math.max(most * 1.05, least * 1.5));
    const x = (premium) => ((Math.log(premium) - low) / (high - low)) * wide;
    const inside = (mark) => mark >= least * 0.95 && mark <= Math.max(most * 1.05, least * 1.5);
    return found.tokenizers.map((row) => {
      const ends = [];
      const labels = row.languages.filter((each) => each.premium > 0).map((each) => {
        const at = x(each.premium);
        const long = (each.name.length + 5) * LETTER + 16;
        const left = at + long > wide; // the label is before its line
        const [from, until] = left ? [at - long, at] : [at, at + long];
        let line = ends.findIndex((stretches) => stretches.every(([start, end]) => until <= start || from >= end));
        if (line < 0) line = ends.push([]) - 1;
        ends[line].push([from, until + 2]);
        const said = `${each.name}: ${each.premium.toFixed(2)} times the tokens of ${found.reference}, ${Math.round(100 * each.cost)} % of the dearest, ${count(each.tokens, 'token')}`;
        return h('button', {
          type: 'button', className: `fair-label${left ? ' before' : ''}`, title: said, 'aria-label': said, 'data-language': each.name,
          style: { top: `${line * ROW}px`, ...(left ? { right: `${wide - at}px` } : { left: `${at}px` }) },
          onmouseenter: () => this.point(each.name), onmouseleave: () => this.point(null), onfocus: () => this.point(each.name), onblur: () => this.point(null), onclick: () => this.point(each.name),
        }, h('bdi', {}, each.name), ` ${each.premium.toFixed(2)}`);
      });
      const dearest = Math.max(...row.languages.map((each) => each.premium ?? 0));
      const part = (mark) => `${Math.round((100 * mark) / dearest)} %`;
      const scale = MARKS.filter(inside).map((mark) => h('span', { className: 'fair-mark', style: { left: `${x(mark)}px` } }, h('span', {}, `${mark} ×`, h('br'), part(mark))));
      return h('figure', { className: 'fair' }, h('figcaption', {}, row.tokenizer, h('span', { className: 'dim' }, ` tokens relative to ${found.reference}; below, of the dearest language`)),
        h('div', { className: 'fair-strip', role: 'group', 'aria-label': `Languages by ${row.tokenizer}`, style: { height: `${ends.length * ROW + 40}px` } }, scale, labels));
    });
  }

  // Marks a language in all strips.
  point(name) {
    for (const each of this.answer.querySelectorAll('.fair-label')) each.classList.toggle('on', each.dataset.language === name);
  }
}

export const view = {
  name: 'fairness', server: true, label: 'Fairness', several: true,
  state: { fairReference: ['string', ''] },
  panel: (app) => new FairnessPanel(app),
};
