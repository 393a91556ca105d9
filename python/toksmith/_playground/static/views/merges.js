// One piece, merge by merge.

import { Player } from '../player.js';

export const view = {
  name: 'merges', label: 'Merges',
  panel: (app) => new Player(app),
  proposes: {
    choose({ pieces }, state) { state.piece ??= pieces[0]?.piece ?? null; },
    chips: ({ pieces }, app, chip) => pieces.map(({ shown, piece }) => chip(shown, 'Play this piece', () => app.set({ piece, step: 0 }))),
  },
};
