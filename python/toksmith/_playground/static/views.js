// The table of views, in the order of their tabs. A new view is a file in views/ and its row here.

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

// A view has a `name`, a `label` for its tab, and what it shows, in one of two ways:
// - as a question and its answer: `ask(app)` gives [name, text or null, values], or null where there is nothing to ask, which
//   `empty` says; `draw(answer, app)` gives elements. `controls(app)` is drawn above, `more(app)` below.
// - as a `panel(app)` with `element`, `refresh()`, which gives a promise, and `question()`, what is exported, or null.
// `one`: it is about one tokenizer, which is chosen above it; `several`: it is about all, and nothing is chosen.
// `state`: its own parts of the state: name: [kind, first value, whether Back and Forward walk through it]; see state.js.
// `proposes`: `choose(found, state)` where nothing was chosen, and `chips(found, app, chip)`; see proposals.js.
// `follows`: its controls are drawn again with every change of the text.
export const GROUPS = [
  ['This text', [tokens, merges, prompt, lint, specials]],
  ['Compared', [budget, edits, languages, fairness]],
  ['Vocabulary', [forest, vocabulary, trainer]],
  ['Prompts', [chat, folder]],
];

export const VIEWS = GROUPS.flatMap(([, views]) => views);
