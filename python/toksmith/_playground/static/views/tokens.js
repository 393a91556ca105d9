// The text as its tokens, and their ids.

export const view = { name: 'tokens', label: 'Tokens', state: { marks: ['number', 1] }, panel: (app) => app.tokens };
