// Cases of the module: what it gives, compared with what the native engine gave.
//
// A line {"file", "options"} loads a tokenizer. A line [text, special, ids, ranges] is a case of it: `ids` is what the native
// engine gives, or the name of its error; `ranges` are starts and ends in units of UTF-16. A line [ids, text] decodes. A line
// {"train", "options", "file"} trains on texts and compares the file. A line {"piece", "merges"} compares the merges: the whole
// id, for each step the symbols, the candidates and the chosen one, and the symbols in the end; or the name of the error.

const MOST_SHOWN = 5;
const same = (left, right) => left.length === right.length && left.every((value, place) => value === right[place]);

/** Runs the lines with the module's names; `read` gives the bytes of a file. Returns how many differ, and the first of them. */
export async function runCases({ load, trainHere }, lines, read) {
  const result = { cases: 0, different: 0, differences: [] };
  let [tok, name] = [];
  for await (const line of lines) {
    const value = JSON.parse(line);
    let problem;
    if (value.train !== undefined) {
      const file = (await trainHere(value.train, value.options)).save();
      problem = same(file, await read(value.file)) ? undefined : `a file of ${file.length} bytes`;
    } else if (value.file !== undefined) {
      [tok, name] = [await load(await read(value.file), value.options), value.file];
      continue;
    } else if (value.piece !== undefined) {
      problem = mergesProblem(tok, value);
    } else {
      problem = value.length === 2 ? decodingProblem(tok, ...value) : encodingProblem(tok, ...value);
    }
    result.cases += 1;
    if (problem === undefined) continue;
    result.different += 1;
    if (result.differences.length < MOST_SHOWN) {
      result.differences.push({ name, line: line.slice(0, 2000), problem: problem.slice(0, 2000) });
    }
  }
  return result;
}

function encodingProblem(tok, text, special, ids, ranges) {
  let found;
  try {
    found = tok.encode(text, { special });
  } catch (error) {
    return error.name === ids ? undefined : `${error.name}: ${error.message}`;
  }
  if (typeof ids === "string" || !same(found, ids)) return `ids ${found}`;
  const count = tok.count(text, { special });
  if (count !== ids.length) return `count ${count}`;
  const { starts, ends, ids: placed } = tok.encodeWithOffsets(text, { special });
  const isSame = same(placed, ids) && same(starts, ranges[0]) && same(ends, ranges[1]);
  return isSame ? undefined : `ranges ${starts} to ${ends}`;
}

function decodingProblem(tok, ids, text) {
  const found = tok.decode(ids);
  return found === text ? undefined : `text ${JSON.stringify(found)}`;
}

function mergesProblem(tok, { piece, merges }) {
  const symbolsOf = (symbols) => symbols.map(({ id, token }) => [id, [...token]]);
  const pair = ({ place, rank, id }) => [place, rank, id];
  let found;
  try {
    const { whole, steps, symbols } = tok.merges(piece);
    const plain = steps.map((step) => [symbolsOf(step.symbols), step.candidates.map(pair), pair(step.chosen)]);
    found = JSON.stringify([whole, plain, symbolsOf(symbols)]);
  } catch ({ name }) {
    found = JSON.stringify(name);
  }
  return found === JSON.stringify(merges) ? undefined : `merges ${found}`;
}
