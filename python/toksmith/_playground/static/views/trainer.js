// A training whose vocabulary size is dragged.

import { Trainer } from '../trainer.js';

export const view = {
  name: 'trainer', label: 'Live trainer', several: true,
  state: { trainSize: ['number', 1000], trainPattern: ['string', 'o200k'], trainTies: ['string', 'lowest_ids'], trainSpecial: ['string', ''] },
  panel: (app) => new Trainer(app),
};
