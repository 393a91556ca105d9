// The tabs of the views in their groups, or a list in narrow windows.

import { h } from './dom.js';

export class Tabs {
  // `groups` are [label, views]; `choose(name)` is called with the view that the user chose.
  constructor(element, list, groups, choose) {
    this.element = element;
    this.list = list;
    this.choose = choose;
    this.names = groups.flatMap(([, views]) => views.map((view) => view.name));
    element.append(...groups.map(([label, views]) => h('div', { role: 'none', className: 'tab-group' },
      h('span', { className: 'tab-label', 'aria-hidden': 'true' }, label), h('div', { role: 'none', className: 'tab-row' }, views.map((view) => this.tab(view, label))))));
    list.append(...groups.map(([label, views]) => h('optgroup', { label }, views.map((view) => h('option', { value: view.name }, view.label)))));
    element.addEventListener('keydown', (event) => this.onkey(event));
    list.addEventListener('change', () => choose(list.value));
  }

  tab({ name, label }, group) {
    const at = this.names.indexOf(name);
    const key = at < 9 ? `, Alt+${at + 1}` : '';
    return h('button', { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': 'panel', 'data-tab': name, title: `${group}${key}`, onclick: () => this.choose(name) }, label);
  }

  show(name) {
    for (const tab of this.element.querySelectorAll('[role=tab]')) {
      const on = tab.dataset.tab === name;
      tab.setAttribute('aria-selected', String(on));
      tab.tabIndex = on ? 0 : -1;
    }
    this.list.value = name;
    this.at = name;
  }

  // Moves the focus to the visible tab, or to the list.
  focus() {
    const tab = this.element.querySelector('[aria-selected=true]');
    (tab.checkVisibility() ? tab : this.list).focus();
  }

  onkey(event) {
    const { names } = this;
    const at = names.indexOf(this.at);
    const to = { ArrowRight: (at + 1) % names.length, ArrowLeft: (at + names.length - 1) % names.length, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.choose(names[to]);
    this.focus();
  }
}
