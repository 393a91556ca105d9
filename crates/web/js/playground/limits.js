// What a page takes at most.

export const LIMITS = { bytes: 10_000_000, tokenizers: 4, ids: 2000 }; // of a text, side by side, in a window
