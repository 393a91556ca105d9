// HF's `tokenizer.json`, read as the Python package reads it: the same model, or an error with the place.

import { draftOf, refuse } from "./draft.js";
import { readNumber, sameInRust } from "./hf_values.js";
import { DECODERS, NORMALIZERS, PRE_TOKENIZERS, readPost, readSteps } from "./hf_steps.js";
import { Part, parse } from "./json.js";

const ID_LIMIT = 2 ** 24;
const ADDED_LIMIT = 2 ** 16;
const FLAGS = ["single_word", "lstrip", "rstrip", "normalized", "special"];
const BYTE_STEP = JSON.stringify({ kind: "byte_characters" });
const isByteStep = (step) => JSON.stringify(step) === BYTE_STEP;
const READERS = { BPE: readBpe, WordPiece: readWordPiece, WordLevel: readWords, Unigram: readUnigram };

/** The draft of a file; `build` makes a tokenizer of a draft. */
export function readTokenizerJson(data, build) {
  const top = new Part(parse(data), "");
  const version = top.text("version", "1.0");
  if (version !== "1.0") top.fail(`is ${JSON.stringify(version)}; only 1.0 is supported`, "version");
  const stepsOf = (name, rows, members) => (top.left[name] == null ? (delete top.left[name], []) : readSteps(top.part(name), rows, members));
  const spaces = top.left.decoder == null;
  const steps = {
    normalizers: stepsOf("normalizer", NORMALIZERS, "normalizers"),
    splitters: stepsOf("pre_tokenizer", PRE_TOKENIZERS, "pretokenizers"),
    decoders: stepsOf("decoder", DECODERS, "decoders"),
  };
  if (spaces) steps.decoders = [{ kind: "spaced" }];
  else if (JSON.stringify(steps.decoders) === '[{"kind":"fuse"}]') steps.decoders = []; // joins tokens without spaces
  steps.post = readPost(top);
  const model = top.part("model");
  const kind = model.text("type", guessKind(model.left));
  if (!Object.hasOwn(READERS, kind)) model.fail(`${JSON.stringify(kind)} is not supported; supported are ${Object.keys(READERS).join(", ")}`, "type");
  let added = readAdded(top, model.left.vocab);
  // Without normalizers `normalized` changes nothing.
  if (!steps.normalizers.length && added.every((token) => token.normalized)) added = added.map((token) => ({ ...token, normalized: false }));
  top.finish();
  const draft = READERS[kind](model, { ...steps, added_tokens: added }, build);
  model.finish();
  return draftOf(draft);
}

/** The type of a model by its fields: early files lack it. */
function guessKind(fields) {
  if ("merges" in fields) return "BPE";
  if (Array.isArray(fields.vocab)) return "Unigram";
  if ("continuing_subword_prefix" in fields && "max_input_chars_per_word" in fields) return "WordPiece";
  return "unk_token" in fields ? "WordLevel" : "";
}

/** The added tokens with the ids that HF gives them; a repeated content has its last flags. */
function readAdded(top, vocab) {
  const rows = Array.isArray(vocab) ? vocab.map((row, id) => [Array.isArray(row) ? row[0] : undefined, id]) : Object.entries(vocab ?? {});
  const ids = new Map(rows.filter(([token]) => typeof token === "string"));
  const tokens = new Map();
  top.left.added_tokens ??= [];
  let next = ids.size;
  const parts = top.parts("added_tokens");
  if (parts.length > ADDED_LIMIT) top.fail(`has ${parts.length} tokens; at most ${ADDED_LIMIT} are allowed`, "added_tokens");
  for (const part of parts) {
    const content = part.text("content");
    part.number("id");
    const flags = Object.fromEntries(FLAGS.map((name) => [name, part.flag(name)]));
    part.finish();
    if (content === "") continue;
    const before = tokens.get(content);
    flags.special ||= before?.special ?? false;
    const id = before?.id ?? ids.get(content) ?? next++;
    if (!(Number.isInteger(id) && id >= 0 && id < ID_LIMIT)) part.fail(`has the id ${id} in the vocabulary`, "content");
    tokens.set(content, { content, id, ...flags });
  }
  return [...tokens.values()];
}

function readVocab(part) {
  const vocab = new Map(Object.entries(part.take("vocab", "object")));
  const tokens = new Map();
  for (const [token, id] of vocab) {
    const shown = JSON.stringify(token);
    if (!(Number.isInteger(id) && id >= 0 && id < ID_LIMIT)) part.fail(`${shown} must have an id from 0 to ${ID_LIMIT - 1}, not ${id}`, "vocab");
    if (tokens.has(id)) part.fail(`${shown} and ${JSON.stringify(tokens.get(id))} have the same id, ${id}`, "vocab");
    if (token === "") part.fail("contains an empty token", "vocab");
    tokens.set(id, token);
  }
  return vocab;
}

/** The three ids of each merge, in rank order. A repeated pair has its last rank. */
function readMerges(part, vocab, prefix) {
  const last = new Map();
  part.take("merges", "array").forEach((merge, at) => {
    if (typeof merge === "string" && merge.startsWith("#version")) return;
    const pair = typeof merge === "string" ? merge.split(" ") : merge;
    if (!Array.isArray(pair) || pair.length !== 2 || pair.some((token) => typeof token !== "string")) {
      part.fail("must be two tokens, as a list or with one space between", `merges[${at}]`);
    }
    const key = `${pair[0].length} ${pair.join("")}`;
    last.delete(key); // a key that is set again would keep its place
    last.set(key, [at, ...pair]);
  });
  return Array.from(last.values(), ([at, left, right]) => {
    if (prefix && !right.startsWith(prefix)) part.fail(`${JSON.stringify(right)} does not start with the prefix ${JSON.stringify(prefix)}`, `merges[${at}]`);
    const result = left + right.slice(prefix.length);
    return [left, right, result].map((token) => vocab.get(token) ?? part.fail(`${JSON.stringify(token)} is not in the vocabulary`, `merges[${at}]`));
  });
}

/** Whether a value is not zero, empty or missing. */
const isSet = (value) => (value?.digits !== undefined ? Number(value.digits) !== 0 : value !== null && typeof value === "object" ? Object.keys(value).length > 0 : Boolean(value));

function readBpe(part, fields, build) {
  if (isSet(part.left.dropout)) part.fail("skips merges at random, which is not supported", "dropout");
  delete part.left.dropout;
  const [prefix, suffix] = [part.text("continuing_subword_prefix", ""), part.text("end_of_word_suffix", "")];
  const unknown = part.text("unk_token", null);
  const [fuse, fallback, whole] = [part.flag("fuse_unk", false), part.flag("byte_fallback", false), part.flag("ignore_merges", false)];
  const vocab = readVocab(part);
  const merges = readMerges(part, vocab, prefix);
  const all = { ...fields, whole_piece: whole };
  const plain = prefix || suffix ? undefined : byteModel(vocab, all, merges, build);
  if (plain !== undefined) return plain;
  // HF fails at the first unknown character; here such a character counts as not in the vocabulary.
  const id = unknown === null ? null : (vocab.get(unknown) ?? null);
  const rare = {
    ...(prefix && { continuing_subword_prefix: prefix }), ...(suffix && { end_of_word_suffix: suffix }), ...(fuse && id !== null && { fuse_unknown: true }),
  };
  return { ...characterModel(vocab, { ...all, ...rare, unknown_id: id, byte_fallback: fallback }), merges };
}

const byId = (tokens) => tokens.sort(([left], [right]) => left - right);
const characterModel = (vocab, fields) => ({ fields: { ...fields, unit: "char" }, tokens: byId(Array.from(vocab, ([token, id]) => [id, token])) });

/** The model of bytes if the characters of the vocabulary stand for bytes (GPT-2's alphabet). */
function byteModel(vocab, fields, merges, build) {
  const { added_tokens: added, normalizers, decoders } = fields;
  let { splitters } = fields;
  if (decoders.length !== 1 || !isByteStep(decoders[0]) || splitters.filter(isByteStep).length !== 1 || normalizers.some(isByteStep)) return undefined;
  const contents = new Set(added.map(({ content }) => content));
  const merged = new Set(merges.flat());
  const [tokens, others] = [[], []];
  for (const [token, id] of vocab) {
    const bytes = fromAlphabet(token);
    const isAdded = contents.has(token) && !merged.has(id);
    if (bytes === undefined && !isAdded) return undefined;
    if (bytes !== undefined) (isAdded ? others : tokens).push([id, bytes]);
  }
  if (new Set(tokens.filter(([, bytes]) => bytes.length === 1).map(([, [byte]]) => byte)).size < 256) return undefined;
  // HF decodes added tokens like all tokens, so their characters must not stand for other bytes.
  for (const content of decodedContents(added, normalizers, build)) {
    const bytes = fromAlphabet(content);
    if (bytes !== undefined && new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes) !== content) return undefined;
  }
  if (isByteStep(splitters.at(-1))) splitters = splitters.slice(0, -1);
  const model = { ...fields, splitters, decoders: [] };
  // An added token is also an ordinary token only if the lookup of whole pieces could find it.
  const ordinary = fields.whole_piece ? others.filter(wholePieceTest(model, others, build)) : [];
  return { fields: model, tokens: byId([...tokens, ...ordinary]), merges };
}

const EVERY_BYTE = Array.from({ length: 256 }, (_, byte) => [byte, [byte]]);

/** The decoded text of each added token: the normalized content if it is matched in the normalized text. */
function decodedContents(added, normalizers, build) {
  if (!normalizers.length || !added.some((token) => token.normalized)) return added.map(({ content }) => content);
  const tokens = added.map((token, at) => ({ ...token, id: 256 + at, special: false, lstrip: false, rstrip: false, single_word: false }));
  const bare = build(draftOf({ fields: { added_tokens: tokens, normalizers }, tokens: EVERY_BYTE }));
  return tokens.map(({ id }) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bare.token(id)));
}

/** Whether the splitters can leave the bytes of a token as one piece; true if that is not known. */
function wholePieceTest({ normalizers, splitters }, others, build) {
  if (normalizers.length || splitters.some(({ kind, dialect }) => kind !== "regex" || dialect !== "rust")) return () => true;
  const tokens = [...EVERY_BYTE, ...others.map(([, bytes], at) => [256 + at, bytes])];
  const bare = build(draftOf({ fields: { splitters, whole_piece: true }, tokens }));
  return ([, bytes]) => bare.encode(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)).length === 1;
}

const ALPHABET = new Map();
for (let [byte, other] = [0, 256]; byte < 256; byte++) {
  const visible = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  ALPHABET.set(String.fromCharCode(visible ? byte : other++), byte);
}

/** The bytes with this spelling; undefined for an empty text or one with other characters. */
function fromAlphabet(text) {
  const bytes = Uint8Array.from(text, (char) => ALPHABET.get(char) ?? 0);
  return text !== "" && [...text].every((char) => ALPHABET.has(char)) ? bytes : undefined;
}

function readWordPiece(part, fields) {
  const [prefix, unknown] = [part.text("continuing_subword_prefix", "##"), part.text("unk_token", "[UNK]")];
  const longest = part.number("max_input_chars_per_word", 100);
  const vocab = readVocab(part);
  const rare = { ...(prefix && { continuing_subword_prefix: prefix }), max_piece_chars: longest };
  return characterModel(vocab, { ...fields, ...rare, kind: "wordpiece", unknown_id: vocab.get(unknown) ?? null });
}

function readWords(part, fields) {
  const unknown = part.text("unk_token", "[UNK]");
  const vocab = readVocab(part);
  return characterModel(vocab, { ...fields, kind: "words", unknown_id: vocab.get(unknown) ?? null });
}

function readUnigram(part, fields) {
  const [unknown, fallback] = [part.number("unk_id", null), part.flag("byte_fallback", false)];
  const [vocab, scores] = [new Map(), []];
  part.take("vocab", "array").forEach((row, id) => {
    const fail = (problem) => part.fail(problem, `vocab[${id}]`);
    const digits = Array.isArray(row) ? (row[1]?.digits ?? (typeof row[1] === "number" ? String(row[1]) : undefined)) : undefined;
    if (digits === undefined || row.length !== 2 || typeof row[0] !== "string") fail("must be a token and its score");
    if (row[0] === "") fail("contains an empty token");
    if (vocab.has(row[0])) fail(`${JSON.stringify(row[0])} is already at place ${vocab.get(row[0])}`);
    vocab.set(row[0], id);
    scores.push(readNumber(digits));
    if (!Number.isFinite(scores[id])) fail("has a score that is not finite");
  });
  if (!vocab.size) part.fail("must contain a token", "vocab");
  if (unknown !== null && unknown >= vocab.size) part.fail(`is ${unknown}, but the vocabulary has only ${vocab.size} tokens`, "unk_id");
  const hex = (byte) => byte.toString(16).toUpperCase().padStart(2, "0");
  if (fallback && !EVERY_BYTE.every(([byte]) => vocab.has(`<0x${hex(byte)}>`))) part.fail("requires a token for each byte, <0x00> to <0xFF>", "byte_fallback");
  const all = { ...fields, kind: "unigram", unknown_id: unknown, byte_fallback: fallback, score_type: "float64" };
  return { ...characterModel(vocab, all), scores };
}
