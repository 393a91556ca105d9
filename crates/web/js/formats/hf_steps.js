// The parts of a `tokenizer.json` that are steps, one row for each type; `python/toksmith/_formats/hf_steps.py` has the reasons.

import { sameInRust } from "./hf_values.js";

const BEHAVIORS = {
  Removed: "removed", Isolated: "isolated", MergedWithPrevious: "merged_with_previous", MergedWithNext: "merged_with_next", Contiguous: "contiguous",
};
const SCHEMES = { always: "always", first: "first", never: "never" };
const SIDES = { Left: "left", Right: "right" };
const STRATEGIES = { LongestFirst: "longest_first", OnlyFirst: "only_first", OnlySecond: "only_second" };
const GPT2 = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

const plain = (kind) => () => [{ kind }];
/** A type whose fields are options: [field, method, option, default]. */
const renaming = (kind, ...fields) => (part) => [
  fields.reduce((step, [field, how, option = field, usual]) => ({ ...step, [option]: part[how](field, usual) }), { kind }),
];

function pattern(part) {
  const inner = part.part("pattern");
  const isLiteral = "String" in inner.left;
  const found = inner.text(isLiteral ? "String" : "Regex");
  inner.finish();
  return [found, isLiteral ? "literal" : sameInRust(found) ? "rust" : "onig"];
}

/** `Replace`: its regexes are in Oniguruma's dialect, where empty matches count. */
function replace(part) {
  const [found, dialect] = pattern(part);
  return [{ kind: "replace", pattern: found, dialect: dialect === "literal" ? dialect : "onig", content: part.text("content") }];
}

function split(part) {
  const [found, dialect] = pattern(part);
  const options = { pattern: found, behavior: part.choice("behavior", BEHAVIORS), invert: part.flag("invert") };
  return [dialect === "literal" ? { kind: "literal", ...options } : { kind: "regex", dialect, ...options }];
}

function byteLevel(part) {
  const steps = part.flag("add_prefix_space") ? [{ kind: "prefix_space" }] : [];
  part.flag("trim_offsets");
  if (part.flag("use_regex", true)) steps.push({ kind: "regex", pattern: GPT2, dialect: "rust", behavior: "isolated", invert: false });
  return [...steps, { kind: "byte_characters" }];
}

function byteLevelDecoder(part) {
  for (const name of ["add_prefix_space", "trim_offsets", "use_regex"]) part.flag(name, null);
  return [{ kind: "byte_characters" }];
}

/** The pieces that get the mark of `Metaspace`. */
function scheme(part) {
  part.text("str_rep", null);
  const old = part.flag("add_prefix_space", null);
  const now = part.choice("prepend_scheme", SCHEMES, old === false ? "never" : "always");
  return old === false && now !== "never" ? part.fail(`contradicts the prepend_scheme "${now}"`, "add_prefix_space") : now;
}

function metaspace(part) {
  const prepend = scheme(part);
  return [{ kind: "metaspace", replacement: part.char("replacement"), prepend, split: part.flag("split", true) }];
}

function metaspaceDecoder(part) {
  const prepend = scheme(part);
  part.flag("split", null);
  return [{ kind: "metaspace", replacement: part.char("replacement"), drop_first: prepend !== "never" }];
}

export const NORMALIZERS = {
  BertNormalizer: renaming(
    "bert", ["clean_text", "flag"], ["handle_chinese_chars", "flag"], ["lowercase", "flag"], ["strip_accents", "flag", "strip_accents", null],
  ),
  ByteLevel: plain("byte_characters"),
  Lowercase: plain("lowercase"),
  NFC: plain("nfc"),
  NFD: plain("nfd"),
  NFKC: plain("nfkc"),
  NFKD: plain("nfkd"),
  Nmt: plain("nmt"),
  Precompiled: renaming("precompiled", ["precompiled_charsmap", "text", "charsmap"]),
  Prepend: renaming("prepend", ["prepend", "text"]),
  Replace: replace,
  Strip: renaming("strip", ["strip_left", "flag", "left"], ["strip_right", "flag", "right"]),
  StripAccents: plain("strip_accents"),
};

export const PRE_TOKENIZERS = {
  BertPreTokenizer: plain("bert"),
  ByteLevel: byteLevel,
  CharDelimiterSplit: renaming("delimiter", ["delimiter", "char"]),
  Digits: renaming("digits", ["individual_digits", "flag", "individual"]),
  FixedLength: renaming("fixed_length", ["length", "number", "length", 5]),
  Metaspace: metaspace,
  Punctuation: (part) => [{ kind: "punctuation", behavior: part.choice("behavior", BEHAVIORS, "Isolated") }],
  Split: split,
  UnicodeScripts: plain("unicode_scripts"),
  Whitespace: plain("whitespace"),
  WhitespaceSplit: plain("whitespace_split"),
};

export const DECODERS = {
  BPEDecoder: renaming("word_end", ["suffix", "text"]),
  ByteFallback: plain("byte_fallback"),
  ByteLevel: byteLevelDecoder,
  CTC: renaming("ctc", ["pad_token", "text", "pad"], ["word_delimiter_token", "text", "delimiter"], ["cleanup", "flag"]),
  Fuse: plain("fuse"),
  Metaspace: metaspaceDecoder,
  Replace: replace,
  Strip: renaming("strip", ["content", "char"], ["start", "number"], ["stop", "number"]),
  WordPiece: renaming("wordpiece", ["prefix", "text"], ["cleanup", "flag"]),
};

/** The steps of a part; sequences inside it are flattened. */
export function readSteps(part, rows, members) {
  const kind = part.text("type");
  let steps = [];
  if (kind === "Sequence") steps = part.parts(members).flatMap((member) => readSteps(member, rows, members));
  else if (Object.hasOwn(rows, kind)) steps = rows[kind](part);
  else part.fail(`${JSON.stringify(kind)} is not supported; supported are Sequence, ${Object.keys(rows).join(", ")}`, "type");
  part.finish();
  return steps;
}

/** The steps on ids, in order: truncation, post-processors and padding. */
export function readPost(top) {
  const read = (name, how) => {
    if (top.left[name] != null) return how(top.part(name));
    delete top.left[name];
    return [];
  };
  const last = read("padding", padding);
  return [...read("truncation", truncation), ...read("post_processor", processor), ...last];
}

function processor(part) {
  const kind = part.text("type");
  const steps = [];
  const trims = (prefix) => part.flag("trim_offsets") && steps.push({ kind: "trim_offsets", add_prefix_space: prefix });
  if (kind === "Sequence") steps.push(...part.parts("processors").flatMap(processor));
  else if (kind === "TemplateProcessing") steps.push(template(part));
  else if (kind === "ByteLevel") {
    const prefix = part.flag("add_prefix_space");
    part.flag("use_regex", true);
    trims(prefix);
  } else if (kind === "BertProcessing" || kind === "RobertaProcessing") {
    const [sep, cls] = [namedId(part, "sep"), namedId(part, "cls")];
    if (kind === "RobertaProcessing") trims(part.flag("add_prefix_space"));
    steps.push({ kind: kind === "BertProcessing" ? "bert" : "roberta", sep, cls });
  } else {
    const known = "BertProcessing, ByteLevel, RobertaProcessing, Sequence, TemplateProcessing";
    part.fail(`${JSON.stringify(kind)} is not supported; supported are ${known}`, "type");
  }
  part.finish();
  return steps;
}

const isId = (value) => Number.isInteger(value) && value >= 0;

function namedId(part, name) {
  const value = part.take(name, "array");
  return value.length === 2 && typeof value[0] === "string" && isId(value[1]) ? value : part.fail("must be a token and its id", name);
}

function template(part) {
  const special = part.part("special_tokens");
  const tokens = Object.keys(special.left).map((name) => {
    const entry = special.part(name);
    const [ids, contents] = [entry.take("ids", "array"), entry.take("tokens", "array")];
    if (ids.length !== contents.length || !ids.every(isId)) entry.fail("must have one id for each token", "ids");
    if (!contents.every((content) => typeof content === "string") || entry.text("id") !== name) entry.fail("must have texts as tokens and its own name as id");
    entry.finish();
    return [name, [ids, contents]];
  });
  const names = tokens.map(([name]) => name);
  const pieces = (name) => part.parts(name).map((piece) => templatePiece(piece, names));
  return { kind: "template", special_tokens: Object.fromEntries(tokens), single: pieces("single"), pair: pieces("pair") };
}

function templatePiece(part, names) {
  const special = "SpecialToken" in part.left;
  const inner = part.part(special ? "SpecialToken" : "Sequence");
  const [name, type] = [inner.text("id"), inner.number("type_id")];
  if (!(special ? names : ["A", "B"]).includes(name)) inner.fail(`${JSON.stringify(name)} is ${special ? "not among the special tokens" : "neither A nor B"}`, "id");
  inner.finish();
  part.finish();
  return [name, special, type];
}

function truncation(part) {
  const step = { kind: "truncate", max_length: part.number("max_length"), stride: part.number("stride", 0) };
  Object.assign(step, { side: part.choice("direction", SIDES, "Right"), strategy: part.choice("strategy", STRATEGIES) });
  part.finish();
  return [step];
}

function padding(part) {
  const { strategy } = part.left;
  delete part.left.strategy;
  const fixed = strategy !== null && typeof strategy === "object" && Object.keys(strategy).length === 1 ? strategy.Fixed : undefined;
  if (strategy !== "BatchLongest" && !isId(fixed)) part.fail('must be "BatchLongest" or {"Fixed": a number}', "strategy");
  const step = {
    kind: "pad", length: fixed ?? null, side: part.choice("direction", SIDES), multiple_of: part.number("pad_to_multiple_of", null),
    id: part.number("pad_id"), type_id: part.number("pad_type_id"), token: part.text("pad_token"),
  };
  part.finish();
  return [step];
}
