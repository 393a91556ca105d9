// The texts that the live trainer learns from: files, the text of the page, and the page's own sentences.

import { count, h, num, say } from './dom.js';
import { base64, readDropped } from './files.js';

const MOST_TEXTS = 40;

// The content of a file for the server: its text, or its bytes if they are not UTF-8.
function sendable(name, bytes) {
  try {
    return { name, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { name, data: base64(new Uint8Array(bytes)) };
  }
}

export class TrainerTexts {
  // `tellChange()` is called after every change.
  constructor(app, tellChange) {
    this.app = app;
    this.tellChange = tellChange;
    this.own = []; // { name, bytes, sent }
    this.sentences = true; // the page's own
    this.list = h('ul', { className: 'train-list', 'aria-label': 'Texts to train on' });
    this.problem = h('p', { className: 'bad', hidden: true });
    this.input = h('input', { type: 'file', multiple: true, hidden: true, id: 'train-files', 'aria-label': 'Texts to train on', onchange: () => this.files([...this.input.files]) });
    const button = (label, onclick) => h('button', { type: 'button', onclick }, label);
    this.back = button('Add the page’s sentences', () => this.change(() => { this.sentences = true; }));
    this.element = h('fieldset', { className: 'train-texts' }, h('legend', {}, 'Texts to train on'), this.input, this.list, this.problem,
      h('p', { className: 'group' }, button('Add files …', () => this.input.click()), button('Add your text', () => this.addText()), this.back, button('Remove all', () => this.change(() => { this.sentences = false; this.own = []; }))),
      h('p', { className: 'dim hint' }, 'Or drop files here. Each file is a text of its own, such as a language; together they have at most ', num(app.page().limits.bytes), ' bytes.'));
    this.element.addEventListener('drop', async (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      event.stopPropagation(); // the page would ask for the kind of the files
      this.files(await readDropped(event.dataTransfer));
    });
    this.draw();
  }

  get isEmpty() {
    return !this.sentences && !this.own.length;
  }

  get bytes() {
    return this.own.reduce((sum, each) => sum + each.bytes, 0);
  }

  // The texts for the server.
  body() {
    return { sentences: this.sentences, texts: this.own.map((each) => each.sent) };
  }

  change(work) {
    this.problem.hidden = true;
    work();
    this.draw();
    this.tellChange();
  }

  refuse(words) {
    this.problem.textContent = words;
    this.problem.hidden = false;
    say(words);
  }

  fits(names, bytes) {
    const { limits, languages } = this.app.page();
    const texts = this.own.length + names.length + (this.sentences ? languages.length : 0);
    if (texts > MOST_TEXTS) this.refuse(`These would be ${num(texts)} texts; the limit is ${MOST_TEXTS}. Nothing was added.`);
    else if (this.bytes + bytes > limits.bytes) this.refuse(`The texts would have ${num(this.bytes + bytes)} bytes; the limit is ${num(limits.bytes)}. Nothing was added.`);
    else return true;
    return false;
  }

  async files(files) {
    this.input.value = '';
    if (!files.length || !this.fits(files, files.reduce((sum, file) => sum + file.size, 0))) return;
    try {
      const read = [];
      for (const file of files) read.push({ name: file.name.replace(/\.[^.]+$/, '') || file.name, bytes: file.size, sent: await file.arrayBuffer() });
      for (const each of read) each.sent = sendable(each.name, each.sent);
      // A user who adds texts wants to see those only.
      this.change(() => { if (!this.own.length) this.sentences = false; this.own.push(...read); });
      say(`${count(read.length, 'text')} added`);
    } catch {
      this.refuse('A file could not be read. Nothing was added.');
    }
  }

  addText() {
    const { text } = this.app.state;
    const bytes = new TextEncoder().encode(text).length;
    if (!bytes) this.refuse('Your text is empty.');
    else if (this.fits(['text'], bytes)) this.change(() => this.own.push({ name: 'the text', bytes, sent: { name: 'the text', text } }));
  }

  draw() {
    const row = (name, size, remove) => h('li', {}, h('bdi', {}, name), h('span', { className: 'dim' }, ` ${size} `), h('button', { type: 'button', 'aria-label': `Remove ${name}`, title: 'Remove', onclick: () => { this.change(remove); this.element.querySelector('.group button').focus(); } }, '×'));
    const { languages } = this.app.page();
    const rows = this.own.map((each) => row(each.name, count(each.bytes, 'byte'), () => { this.own = this.own.filter((other) => other !== each); }));
    if (this.sentences) rows.unshift(row('the page’s sentences', count(languages.length, 'language'), () => { this.sentences = false; }));
    this.list.replaceChildren(...rows);
    this.back.hidden = this.sentences;
  }
}
