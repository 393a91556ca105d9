// Numbers and regexes of a `tokenizer.json`, with the meaning that HF gives them.

const MOST = 2n ** 64n - 1n;
const HIGHEST_POWER = 308;
const FARTHEST = 2 ** 31 - 1;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** The float that HF's reader returns: it drops digits that do not fit into 64 bits, and scales by a power of ten. */
export function readNumber(digits) {
  const [, sign, whole, fraction = "", exponent = "0"] = NUMBER.exec(digits);
  let [value, power] = [0n, 0];
  if (whole.length + fraction.length <= 19) [value, power] = [BigInt(whole + fraction), -fraction.length];
  else {
    const more = (digit) => value * 10n + BigInt(digit);
    let at = 0;
    for (; at < whole.length && more(whole[at]) <= MOST; at++) value = more(whole[at]);
    power = whole.length - at;
    for (at = 0; at < fraction.length && more(fraction[at]) <= MOST; at++, power--) value = more(fraction[at]);
  }
  power = Math.max(-FARTHEST, Math.min(FARTHEST, power + Math.max(-FARTHEST, Math.min(FARTHEST, Number(exponent)))));
  const size = scaleNumber(Number(value), power);
  return sign ? -size : size;
}

/** The value times a power of ten, rounded at each step. */
function scaleNumber(value, power) {
  for (; power < -HIGHEST_POWER && value; power += HIGHEST_POWER) value /= 1e308;
  if (!value) return value;
  if (power > HIGHEST_POWER) return Infinity;
  return power >= 0 ? value * Number(`1e${power}`) : value / Number(`1e${-power}`);
}

// Both engines agree on these properties and this notation; `python/toksmith/_formats/oniguruma.py` has the reasons.
const ESCAPE = String.raw`\\(?:[rntsSdD]|[pP]\{(?:L|Ll|Lm|Lo|Lt|Lu|M|N|P|S|Han)\}|[!-\/:;=?@\[-${"`"}\{-~])`;
const CLASS_CHAR = String.raw`[^\[\]\\^\-]`;
const sticky = (source) => new RegExp(source, "uy");
const FORMS = {
  escape: sticky(ESCAPE),
  literal: sticky(String.raw`[^\\^$.|?*+()\[\]\{\}]`),
  class: sticky(String.raw`\[\^?(?:(?:${ESCAPE}|${CLASS_CHAR})(?:-${CLASS_CHAR})?|(?<!\[)(?<!\[\^)\^)+\]`),
  quantifier: sticky(String.raw`[?*+][?+]?|\{[0-9]{1,3}(?:,(?:[0-9]{1,3})?)?\}[?+]?`),
  group: sticky(String.raw`\((?:\?(?:[:=!>]|i:))?`),
};
const CLASS_OPERATOR = /&&|~~|--|\[:/;
const FOLDED = /^[a-zA-Z'|[\]()?:-]*$/;
const LONGEST = 2 ** 14;
const DEEPEST = 64;

/** Whether a regex of Oniguruma has the same matches in the Rust dialect. */
export function sameInRust(regex) {
  if ([...regex].length > LONGEST) return false;
  let at = 0;
  const take = (form) => {
    FORMS[form].lastIndex = at;
    const found = FORMS[form].exec(regex)?.[0] ?? "";
    at += found.length;
    return found;
  };
  const differs = () => {
    throw differs;
  };
  // Each rule returns whether it can match the empty text.
  const alternatives = (depth) => {
    let empty = branch(depth);
    while (regex[at] === "|") {
      at += 1;
      empty = branch(depth) || empty;
    }
    return empty;
  };
  const ends = (depth) => at >= regex.length || regex[at] === "|" || (depth > 0 && regex[at] === ")");
  const branch = (depth) => {
    let empty = true;
    while (!ends(depth)) {
      const start = at;
      const atomEmpty = atom(depth);
      const quantifier = take("quantifier");
      // `{n,m}+` and `{n,m}?` mean other things there.
      if (/^\{.*[?+]$/.test(quantifier) || (quantifier && "?*+{".includes(regex[at] ?? " "))) differs();
      if (regex.slice(start, at) === "\\s++" && regex[at] === "$") at += 1;
      empty &&= atomEmpty || /^[?*]|^\{[0,]/.test(quantifier);
    }
    return empty;
  };
  const atom = (depth) => {
    if (take("escape") || take("literal")) return false;
    if (regex[at] === ".") return (at += 1), false;
    const found = take("class");
    if (found) return CLASS_OPERATOR.test(found.slice(1)) ? differs() : false;
    const opening = depth < DEEPEST ? take("group") : "";
    if (!opening || regex[at] === "?") differs();
    const first = at;
    const empty = alternatives(depth + 1);
    if ((opening === "(?i:" && !FOLDED.test(regex.slice(first, at))) || regex[at] !== ")") differs();
    at += 1;
    return empty || opening === "(?=" || opening === "(?!";
  };
  try {
    return !alternatives(0) && at === regex.length;
  } catch (problem) {
    if (problem === differs) return false;
    throw problem;
  }
}
