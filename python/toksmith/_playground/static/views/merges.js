// One piece: merge by merge, or in a unigram model place by place.

import { speak } from '../dom.js';
import { drawLattice, latticeStages, latticeWords } from '../lattice.js';
import { Player } from '../player.js';

class PiecePlayer extends Player {
  get stages() {
    return this.found.arcs ? latticeStages(this.found) : super.stages;
  }

  words(stage, look = (shown) => shown) {
    return this.found.arcs ? latticeWords(this.found, stage, look) : super.words(stage, look);
  }

  drawStage(stage) {
    return this.found.arcs ? drawLattice(this.found, stage) : super.drawStage(stage);
  }
}

export const view = {
  name: 'merges', label: 'Merges',
  panel: (app) => new PiecePlayer(app),
  proposes: {
    choose({ pieces }, state) { state.piece ??= pieces[0]?.piece ?? null; },
    chips: ({ pieces }, app, chip) => pieces.map(({ shown, piece }) => chip(shown, 'Play this piece', () => app.set({ piece, step: 0 }))),
  },
};
