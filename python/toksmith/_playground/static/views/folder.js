// A folder by tokens: a map of areas, two levels at a time, and the files that a prompt can omit. The browser reads the files.

import { ask } from '../api.js';
import { count, h, num, say, table } from '../dom.js';
import { base64 } from '../files.js';
import { latest } from '../latest.js';

const BATCH = 6_000_000; // bytes of one request
const LARGEST = 20_000_000; // bytes of a file; the page skips larger ones, which `toksmith explain folder` reads
const LOOKED_AT = 8000; // bytes; a NUL among these marks a binary file
const SCALE = ['4 bytes per token and more', '3 to 4', '2 to 3', 'less than 2'];
const REACHED = 24; // pixels of both sides; a larger area is a button

const pathOf = (file) => file.webkitRelativePath.split('/').slice(1).join('/') || file.name;

class FolderPanel {
  constructor(app) {
    this.app = app;
    this.key = ''; // of the folder at the server
    this.files = [];
    this.input = h('input', { type: 'file', webkitdirectory: true, hidden: true, id: 'map-folder', 'aria-label': 'Open a folder to map', onchange: () => this.open([...this.input.files]) });
    this.state = h('p', { className: 'dim', id: 'folder-state' });
    this.answer = h('div', { className: 'answer' });
    this.element = h('div', {},
      h('div', { className: 'controls' }, h('button', { type: 'button', id: 'map-open', onclick: () => this.input.click() }, 'Map a folder …'), this.input,
        h('span', { className: 'dim' }, 'Its files stay on this machine. What its ', h('code', {}, '.gitignore'), ' files name is left out.')),
      this.state, this.answer);
    this.load = latest((again, signal) => this.fetch(again, signal));
  }

  refresh() {
    return this.load();
  }

  question() {
    return ['folder', null, { ...this.app.one(), folder: this.key, special: this.app.state.special }];
  }

  async open(files) {
    this.input.value = '';
    if (!files.length) {
      this.tell('The folder has no files.');
      return;
    }
    this.files = files;
    this.app.set({ inside: '' }, false);
    try {
      await this.send();
      await this.refresh();
    } catch (problem) {
      this.tell(problem.message, 'bad');
    }
  }

  tell(words, looks = 'dim') {
    this.state.className = looks;
    this.state.textContent = words;
    if (words) say(words);
  }

  // Sends the files that the folder's rules include: first the paths, then the files in parts.
  async send() {
    const { files } = this;
    const key = `${Date.now()}-${Math.random()}`;
    const name = files[0].webkitRelativePath.split('/')[0] || 'folder';
    const paths = files.map(pathOf);
    this.tell(`Reading ${name} …`);
    const ignores = {};
    for (const [at, path] of paths.entries()) {
      if (/(^|\/)\.gitignore$/.test(path) && !/(^|\/)(node_modules|\.git)\//.test(path)) ignores[path] = (await files[at].text()).toWellFormed();
    }
    const { wanted } = await ask('folder_wanted', null, { paths, ignores });
    let batch = {};
    let size = 0;
    let missed = 0;
    const flush = async () => {
      await ask('folder_files', null, { folder: key, name, files: batch });
      batch = {};
      size = 0;
    };
    for (const [number, at] of wanted.entries()) {
      const file = files[at];
      if (file.size > LARGEST) {
        missed += 1;
        continue;
      }
      try {
        const bytes = new Uint8Array(await file.arrayBuffer());
        batch[paths[at]] = bytes.subarray(0, LOOKED_AT).includes(0) ? null : base64(bytes);
        size += batch[paths[at]] ? bytes.length : 0;
      } catch {
        missed += 1; // it is missing or unreadable
      }
      if (size > BATCH) {
        await flush();
        this.state.textContent = `Reading ${name}: ${num(number + 1)} of ${count(wanted.length, 'file')}`;
      }
    }
    await flush();
    this.key = key;
    const left = files.length - wanted.length;
    const said = [left ? `${count(left, 'file')} left out by .gitignore or version control` : '', missed ? `${count(missed, 'file')} too large or unreadable: \`toksmith explain folder\` counts them` : ''];
    this.tell(said.filter(Boolean).join('; '), missed ? 'warn' : 'dim');
  }

  async fetch(again, signal) {
    const wide = Math.max(200, Math.round(this.element.clientWidth || 800));
    const high = Math.round(Math.min(608, Math.max(352, innerWidth * 0.45)));
    const values = () => ({ ...this.app.one(), folder: this.key, special: this.app.state.special, inside: this.app.state.inside, wide, high });
    try {
      let found;
      try {
        found = await ask('folder_areas', null, values(), { signal });
      } catch (problem) {
        if (problem.kind !== 'UnknownName' || !this.files.length || again()) throw problem;
        await this.send(); // the server was restarted
        found = await ask('folder_areas', null, values(), { signal });
      }
      if (!again()) this.answer.replaceChildren(...this.draw(found, wide, high).flat().filter(Boolean));
    } catch (problem) {
      if (!again()) this.answer.replaceChildren(h('p', { className: 'bad' }, problem.message));
    }
  }

  draw(found, wide, high) {
    const total = `${found.folder}: ${count(found.files, 'file')}, ${count(found.tokens, 'token')}${found.tokens ? `, ${(found.bytes / found.tokens).toFixed(2)} bytes per token` : ''}`;
    if (!found.files) return [h('h3', {}, total), h('p', { className: 'warn' }, 'It has no text that can be counted.'), this.drawSkipped(found)];
    const said = h('p', { className: 'area-said dim' }, 'Choose a folder to look into it, or a file to read its figures.');
    const areas = h('div', { className: 'areas', role: 'group', 'aria-label': 'Map of the folder' }, found.areas.map((each) => this.area(each, said, [wide, high])));
    const without = found.tokens - found.saved;
    return [
      h('h3', {}, total),
      found.saved ? h('p', {}, h('strong', {}, `A prompt without what is struck out, and without base64, has ${count(without, 'token')} and saves ${num(found.saved)} (${((100 * found.saved) / found.tokens).toFixed(1)} %).`)) : h('p', { className: 'good' }, 'Nothing to leave out was found.'),
      this.crumbs(found),
      areas,
      said,
      h('p', { className: 'scale' }, SCALE.map((words, step) => h('span', { className: `a${step}` }, words)), h('span', { className: 'struck' }, 'to leave out')),
      h('div', { className: 'folder-tables' },
        found.wastes.length ? table(['found', 'files', 'tokens', 'how it is recognised'], found.wastes.map((each) => [h('span', { className: each.advised ? 'warn' : '' }, each.name), each.files, each.tokens, each.why]), 'What a prompt can do without') : null,
        table(['file', 'tokens', 'bytes per token', ''], found.largest.map((each) => [h('bdi', { className: 'mono' }, each.path), each.tokens, each.tokens ? (each.bytes / each.tokens).toFixed(2) : '–', each.rule]), 'The largest files'),
        found.left_out.length ? h('details', {}, h('summary', {}, `Files to leave out: ${num(found.left_out.length)}${found.left_out.length === 200 ? ' and more' : ''}`), table(['file', 'why'], found.left_out.map((each) => [h('bdi', { className: 'mono' }, each.path), each.rule]))) : null),
      this.drawSkipped(found),
    ];
  }

  drawSkipped(found) {
    const reasons = Object.entries(found.skipped);
    return reasons.length ? h('p', { className: 'dim' }, `Not counted: ${reasons.map(([reason, total]) => `${num(total)} ${reason}`).join(', ')}.`) : null;
  }

  crumbs(found) {
    const parts = found.inside.split('/').filter(Boolean);
    const to = (at) => () => this.app.set({ inside: parts.slice(0, at).map((part) => `${part}/`).join('') });
    const link = (words, at) => h('button', { type: 'button', className: 'link', onclick: to(at) }, h('bdi', {}, words));
    if (!parts.length) return h('p', { className: 'crumbs' }, h('strong', {}, h('bdi', {}, `${found.folder}/`)));
    return h('nav', { className: 'crumbs', 'aria-label': 'Folders' }, link(`${found.folder}/`, 0), parts.map((part, at) => (at < parts.length - 1 ? link(`${part}/`, at + 1) : h('strong', {}, h('bdi', {}, `${part}/`)))));
  }

  area(each, said, [wide, high]) {
    const [left, top, across, down] = each.place;
    const words = `${each.name}: ${each.said}${each.struck ? ', to leave out' : ''}`;
    const reached = (across * wide) / 100 >= REACHED && (down * high) / 100 >= REACHED;
    const tell = () => { said.textContent = `${each.path}: ${each.said}${each.struck ? ', to leave out' : ''}`; };
    const attributes = {
      className: each.folder ? `folder d${each.depth}` : `a${each.step}${each.struck ? ' struck' : ''}`,
      title: words,
      style: { left: `${left}%`, top: `${top}%`, width: `${across}%`, height: `${down}%` },
      onmouseenter: tell,
    };
    const name = (across * wide) / 100 > 20 && (down * high) / 100 > 14 ? h('span', {}, each.name) : null;
    if (!reached) return h('div', attributes, name);
    const onclick = each.folder ? () => this.app.set({ inside: each.path }) : () => { tell(); say(words); };
    return h('button', { type: 'button', ...attributes, onclick, onfocus: tell, 'aria-label': words }, name);
  }
}

export const view = {
  name: 'folder', server: true, label: 'Folder', one: true,
  state: { inside: ['string', '', true] },
  panel: (app) => new FolderPanel(app),
};
