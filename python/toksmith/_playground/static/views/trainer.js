// A training with a slider for the vocabulary size.

import { Trainer } from '../trainer.js';

export const view = {
  name: 'trainer', label: 'Live trainer', several: true,
  state: { trainSize: ['number', 1000], trainPattern: ['string', 'o200k'], trainTies: ['string', 'lowest_ids'], trainSpecial: ['string', ''] },
  panel: (app) => new Trainer(app),
};
