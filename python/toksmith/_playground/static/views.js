// The table of views, by task, in the order of their tabs. A new view is a file in views/ and its row here.

import { hasServer } from './api.js';
import { view as budget } from './views/budget.js';
import { view as chat } from './views/chat.js';
import { view as edits } from './views/edits.js';
import { view as fairness } from './views/fairness.js';
import { view as folder } from './views/folder.js';
import { view as forest } from './views/forest.js';
import { view as languages } from './views/languages.js';
import { view as lint } from './views/lint.js';
import { view as merges } from './views/merges.js';
import { view as prompt } from './views/prompt.js';
import { view as specials } from './views/specials.js';
import { view as tokens } from './views/tokens.js';
import { view as trainer } from './views/trainer.js';
import { view as vocabulary } from './views/vocabulary.js';

// A view has a `name`, a `label` for its tab, and its content, in one of two ways:
// - as a request and its answer: `ask(app)` gives [name, text or null, values], or null if there is no request, which
//   `empty` explains; `draw(answer, app)` gives elements. `controls(app)` is drawn above, `more(app)` below.
// - as a `panel(app)` with `element`, `refresh()`, which gives a promise, and `question()`, the request for an export, or null.
// `one`: it shows one tokenizer, which the user chooses above it; `several`: it shows all of them.
// `state`: its own parts of the state: name: [kind, first value, whether Back and Forward walk through it]; see state.js.
// `proposes`: `choose(found, state)` if the user has not chosen, and `chips(found, app, chip)`; see proposals.js.
// `server`: only Python can answer it.
// `follows`: its controls are drawn again after every change of the text.
const ALL = [
  ['See', [tokens, merges, chat, prompt, lint, specials]],
  ['Compare', [edits, languages, fairness]],
  ['Cost', [budget, folder]],
  ['Vocabulary', [forest, vocabulary]],
  ['Train', [trainer]],
];

const isHere = (view) => hasServer || !view.server;
export const GROUPS = ALL.map(([task, views]) => [task, views.filter(isHere)]).filter(([, views]) => views.length);
// The labels of the views that need a server, where there is none.
export const LEFT_OUT = ALL.flatMap(([, views]) => views).filter((view) => !isHere(view)).map((view) => view.label);
export const VIEWS = GROUPS.flatMap(([, views]) => views);
