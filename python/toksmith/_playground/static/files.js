// Files that the user drops or opens: a text, or a tokenizer in one file or in a folder.

import { ask } from './api.js';
import { $, count, h, num, say } from './dom.js';

const MOST_BYTES = 45_000_000; // of the files of a tokenizer, which are sent in base64
const TOKENIZER = /\.(toksmith|tiktoken|model|json|gguf|bpe|vocab|pkl|bin)$|(^|\/)(vocab|merges)\.txt$/i;
const READ = /\.(toksmith|tiktoken|model|json|gguf|bpe|vocab|txt|jinja)$/i; // of a folder
const WEIGHTS = /\.(safetensors|pt|pth|onnx|h5|msgpack)$/i;

// The dropped files, and the files of dropped folders with their paths.
export async function readDropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) return [...transfer.files];
  const found = [];
  const walk = async (entry) => {
    if (entry.isFile) found.push(await new Promise((done, fail) => { entry.file(done, fail); }));
    else {
      const reader = entry.createReader();
      for (;;) {
        const some = await new Promise((done, fail) => { reader.readEntries(done, fail); });
        if (!some.length) break;
        for (const each of some) if (each.isFile) await walk(each); // a tokenizer is in one folder
      }
    }
  };
  for (const entry of entries) await walk(entry);
  found.folder = entries[0].name;
  return found;
}

export function base64(bytes) {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(binary);
}

export class Files {
  // `page` has `limit()`, the maximum bytes of a text, `text(text, name)`, `tokenizer(answer)` and `patterns()`.
  constructor(page) {
    this.page = page;
    this.input = h('input', { type: 'file', multiple: true, hidden: true, id: 'file', 'aria-label': 'Open files', onchange: () => this.takeChosen(this.input) });
    this.folder = h('input', { type: 'file', webkitdirectory: true, hidden: true, id: 'folder', 'aria-label': 'Open a folder', onchange: () => this.takeChosen(this.folder) });
    this.said = h('p', {});
    this.problem = h('p', { className: 'bad', role: 'none', hidden: true });
    this.pattern = h('select', { id: 'pattern' });
    this.patternRow = h('p', { hidden: true }, h('label', { htmlFor: 'pattern' }, 'Split pattern that it was trained with '), this.pattern);
    this.asText = h('button', { type: 'button', onclick: () => this.openText() }, 'As a text');
    this.asTokenizer = h('button', { type: 'button', onclick: () => this.openTokenizer() }, 'As a tokenizer');
    this.dialog = h('dialog', { id: 'ask-file', 'aria-labelledby': 'ask-file-title' }, h('h2', { id: 'ask-file-title' }, 'Text or tokenizer?'), this.said, this.patternRow, this.problem,
      h('p', { className: 'group' }, this.asText, this.asTokenizer, h('button', { type: 'button', onclick: () => this.dialog.close() }, 'Cancel')));
    document.body.append(this.input, this.folder, this.dialog);
    $('open').addEventListener('click', () => this.input.click());
    $('open-folder').addEventListener('click', () => this.folder.click());
    addEventListener('dragover', (event) => {
      if (event.dataTransfer?.types.includes('Files')) event.preventDefault();
    });
    addEventListener('drop', async (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      this.offer(await readDropped(event.dataTransfer));
    });
  }

  takeChosen(input) {
    const files = [...input.files];
    if (input === this.folder) files.folder = files[0]?.webkitRelativePath.split('/')[0];
    const [prefix] = [`${files.folder}/`];
    const own = input === this.folder ? files.filter((file) => !file.webkitRelativePath.slice(prefix.length).includes('/')) : files;
    own.folder = files.folder;
    input.value = '';
    this.offer(own);
  }

  // Asks the user for the kind of the files.
  offer(files) {
    if (!files.length) return;
    this.files = files;
    const size = files.reduce((sum, file) => sum + file.size, 0);
    const one = files.length === 1 && !files.folder;
    this.name = files.folder ?? files[0].name;
    this.said.textContent = one ? `${this.name}, ${count(size, 'byte')}` : `${this.name}: ${count(files.length, 'file')}, ${count(size, 'byte')}`;
    this.problem.hidden = true;
    this.patternRow.hidden = true;
    this.asText.hidden = !one;
    this.dialog.showModal();
    (one && !TOKENIZER.test(this.name) ? this.asText : this.asTokenizer).focus();
  }

  refuse(words) {
    this.problem.textContent = words;
    this.problem.hidden = false;
    say(words);
  }

  async openText() {
    const [file] = this.files;
    if (file.size > this.page.limit()) {
      this.refuse(`${file.name} has ${num(file.size)} bytes; the limit is ${num(this.page.limit())}. The text is left as it was.`);
      return;
    }
    const bytes = await file.arrayBuffer();
    let exact = true;
    try {
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      exact = false;
    }
    this.dialog.close();
    this.page.text(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), file.name, exact);
  }

  async openTokenizer() {
    const { files } = this;
    const all = files.length === 1 ? [...files] : files.filter((file) => READ.test(file.name) && !WEIGHTS.test(file.name));
    const size = all.reduce((sum, file) => sum + file.size, 0);
    if (!all.length || size > MOST_BYTES) {
      this.refuse(all.length ? `The files have ${num(size)} bytes; the page sends at most ${num(MOST_BYTES)}. Start \`toksmith play\` with the path instead.` : 'The folder has no file of a tokenizer.');
      return;
    }
    if (!this.patternRow.hidden && !this.pattern.value) {
      this.refuse('Choose the split pattern first: another pattern gives other ids.');
      return;
    }
    const sent = {};
    for (const file of all) sent[file.name] = base64(new Uint8Array(await file.arrayBuffer()));
    const values = { files: sent, name: this.name };
    if (!this.patternRow.hidden) values.pattern = this.pattern.value;
    try {
      const answer = await ask('opened', null, values);
      this.dialog.close();
      this.page.tokenizer(answer);
    } catch (problem) {
      if (this.patternRow.hidden && /^the split pattern|has no pattern/.test(problem.message)) {
        this.pattern.replaceChildren(h('option', { value: '' }, 'choose'), ...this.page.patterns().map((name) => h('option', {}, name)));
        this.patternRow.hidden = false;
        this.refuse('This file does not say how texts are split before they are merged: choose the pattern.');
      } else this.refuse(problem.message);
    }
  }
}
