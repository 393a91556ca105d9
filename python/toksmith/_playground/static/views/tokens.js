// The text as its tokens, and their ids.

export const view = { name: 'tokens', label: 'Tokens', panel: (app) => app.tokens };
