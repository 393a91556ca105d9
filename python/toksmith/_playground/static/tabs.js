// The views by task: the tasks, and the tabs of the chosen one; in narrow windows a list of all.

import { h } from './dom.js';

export class Tabs {
  // `groups` are [task, views]; `choose(name)` is called with the view that the user chose.
  constructor(element, list, tasks, groups, choose) {
    this.element = element;
    this.list = list;
    this.choose = choose;
    this.names = groups.flatMap(([, views]) => views.map((view) => view.name));
    this.groups = groups.map(([task, views]) => {
      const row = h('div', { role: 'none', className: 'tab-row' }, views.map((view) => this.tab(view)));
      const group = { row, names: views.map((view) => view.name), last: views[0].name }; // the view of the task that was shown last
      group.button = h('button', { type: 'button', 'data-task': task, onclick: () => choose(group.last) }, task);
      return group;
    });
    tasks.append(...this.groups.map(({ button }) => button));
    element.append(...this.groups.map(({ row }) => row));
    list.append(...groups.map(([label, views]) => h('optgroup', { label }, views.map((view) => h('option', { value: view.name }, view.label)))));
    element.addEventListener('keydown', (event) => this.onkey(event));
    list.addEventListener('change', () => choose(list.value));
  }

  tab({ name, label }) {
    const at = this.names.indexOf(name);
    return h('button', { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': 'panel', 'data-tab': name, title: at < 9 ? `Alt+${at + 1}` : null, onclick: () => this.choose(name) }, label);
  }

  show(name) {
    for (const tab of this.element.querySelectorAll('[role=tab]')) {
      const on = tab.dataset.tab === name;
      tab.setAttribute('aria-selected', String(on));
      tab.tabIndex = on ? 0 : -1;
    }
    for (const group of this.groups) {
      const on = group.names.includes(name);
      if (on) group.last = name;
      group.row.hidden = !on;
      group.button.setAttribute('aria-current', String(on));
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
