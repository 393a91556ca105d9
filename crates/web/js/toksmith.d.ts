/** What happens to a special token that a text spells: it is an error, it becomes its id, or it is ordinary text. */
export type Special = "raise" | "allow" | "text";

/** A URL, a path (in node), the bytes of a file, or an object that has them. */
export type Source = string | URL | Uint8Array | ArrayBuffer | Blob | Response;

export interface TextOptions {
  special?: Special;
  /** A lone surrogate becomes U+FFFD (`replace`, the default), or is an error. */
  errors?: "replace" | "strict";
}

export interface LoadOptions {
  /** For a `.tiktoken` file, which has neither: the name of a pattern, such as `cl100k`, or a regex. */
  pattern?: string;
  /** For a `.tiktoken` file: the ids of special tokens by content. */
  specialTokens?: Record<string, number>;
}

export interface TrainOptions {
  /** The number of tokens, with the 256 bytes and the special tokens. */
  vocabSize: number;
  /** The name of a pattern, a regex, or null to split nothing; `o200k` by default. */
  pattern?: string | null;
  /** The contents of special tokens, which get the last ids. */
  specialTokens?: Iterable<string>;
  /** The lowest count at which a pair merges; 1 by default. */
  minCount?: number;
  /** The longest token in bytes; no limit by default. */
  maxTokenBytes?: number;
  /** Gets the progress about 20 times a second, and at the end. */
  onProgress?: (progress: Progress) => unknown;
  /** Ends the training; the promise is then rejected. */
  signal?: AbortSignal;
}

export interface Progress {
  /** The merges so far, and the most that are learned. */
  done: number;
  total: number;
  /** The new merges: for each the left id, the right id, the id of the result, and the count of the pair. */
  merges: Float64Array;
}

/** A symbol of a piece during merging. */
export interface MergeSymbol {
  /** Null for a character without a token. */
  id: number | null;
  token: Uint8Array;
}

/** A pair that can merge: the place of its left symbol, its rank, and the id of the result. */
export interface Candidate {
  place: number;
  rank: number;
  id: number;
}

export interface Merges {
  /** The id of the whole piece, if it is looked up before anything merges. */
  whole: number | null;
  steps: { symbols: MergeSymbol[]; candidates: Candidate[]; chosen: Candidate }[];
  /** The symbols after the last merge. */
  symbols: MergeSymbol[];
}

/** An error of the engine; `name` is that of the exception in Python, such as `SpecialTokenInText`. Offsets count as strings do. */
export class ToksmithError extends Error {}

/** A tokenizer. Its methods throw `ToksmithError`; after any other error of the engine, load it again. */
export class Tokenizer {
  private constructor();
  /** The largest id + 1. */
  readonly vocabSize: number;
  /** The ids of the special tokens by content. */
  readonly specialTokens: Readonly<Record<string, number>>;
  /** The ids of a text. */
  encode(text: string, options?: TextOptions): Uint32Array;
  /** The number of ids of a text. */
  count(text: string, options?: TextOptions): number;
  /** The ids of a text with their ranges: `text.slice(starts[i], ends[i])` has every character that the id has a part of. */
  encodeWithOffsets(
    text: string,
    options?: TextOptions & { /** In units of strings, or in bytes of UTF-8. */ unit?: "utf16" | "byte" },
  ): { ids: Uint32Array; starts: Uint32Array; ends: Uint32Array };
  /**
   * After an edit of a text, whose UTF-8 is now `data`: the part whose ids the edit from byte `start` to `end` can change,
   * its ids, and the byte at which each ends. All other ids are as before.
   */
  encodeAround(
    data: Uint8Array,
    start: number,
    end: number,
    options?: Pick<TextOptions, "special">,
  ): { start: number; end: number; ids: Uint32Array; ends: Uint32Array };
  /** The text of ids, with U+FFFD for bytes that are not UTF-8. */
  decode(ids: ArrayLike<number> & Iterable<number>): string;
  /** The bytes of ids. */
  decodeBytes(ids: ArrayLike<number> & Iterable<number>): Uint8Array;
  /** A decoder of a stream of ids, which gives whole characters. */
  decoder(): StreamDecoder;
  /** The bytes of one token. */
  token(id: number): Uint8Array;
  /** The id of a token or of a special token; undefined if there is none. */
  tokenId(token: string | Uint8Array): number | undefined;
  /**
   * The part of a prompt that allows every continuation: its ids, the bytes after them, with which the next token must begin, and
   * the ids of the tokens that do.
   */
  heal(text: string, options?: Pick<TextOptions, "special">): { ids: Uint32Array; rest: Uint8Array; continuations: Uint32Array };
  /** The form of a text without special tokens that becomes tokens, after the steps of the model that rewrite it. */
  normalize(text: string): string;
  /** The end of each piece in that form, in bytes of UTF-8. */
  split(text: string): Uint32Array;
  /** The merges of the vocabulary, in rank order: the left id, the right id and the id of the result of each. */
  allMerges(): Uint32Array;
  /** How one normalized piece of at most 512 symbols becomes tokens: at each step the pair with the lowest rank merges. */
  merges(piece: string | Uint8Array): Merges;
  /** The bytes of the tokenizer's `.toksmith` file. */
  save(): Uint8Array;
}

/** Decodes a stream of ids to characters that no later id can change. */
export class StreamDecoder {
  private constructor();
  /** The characters that an id, or several, complete. */
  feed(ids: number | (ArrayLike<number> & Iterable<number>)): string;
  /** The rest, with U+FFFD for an unfinished character; the decoder then starts again. */
  finish(): string;
}

/**
 * Loads a `.toksmith` file, HF's `tokenizer.json`, SentencePiece's `.model`, or a `.tiktoken` file with its pattern. What the
 * engine cannot run exactly is an error that names it.
 */
export function load(source: Source, options?: LoadOptions): Promise<Tokenizer>;

/** A model as a value: fields of the native format's `model` by name, tokens with their ids, and merges by ids. */
export interface ModelValue {
  fields: Record<string, unknown>;
  tokens: [id: number, token: string | ArrayLike<number>][];
  merges?: [left: number, right: number, id: number][];
  scores?: number[];
  metadata?: Record<string, string>;
}

/** The tokenizer of a model that was made otherwise. */
export function loadModel(model: ModelValue): Promise<Tokenizer>;

/** The names of the patterns. */
export function patterns(): Promise<string[]>;

/** Trains a tokenizer on texts, in a worker, with the result of `toksmith.train` in Python. */
export function train(texts: string | Iterable<string | Uint8Array>, options: TrainOptions): Promise<Tokenizer>;

/** The same on this thread, which it blocks; `onProgress` can return false to end it with the merges so far. */
export function trainHere(texts: string | Iterable<string | Uint8Array>, options: Omit<TrainOptions, "signal">): Promise<Tokenizer>;

/**
 * Compiles a module, which `load` and `train` do at their first call; `source` replaces the file next to this one.
 * `toksmith-full.wasm` is for patterns that are regexes without a name.
 */
export function init(source?: Source, file?: "toksmith.wasm" | "toksmith-full.wasm"): Promise<WebAssembly.Module>;
