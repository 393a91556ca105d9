// node run_cases.mjs FOLDER: runs the cases of standard input through the module in FOLDER, and prints the first that differ.
//
// A line {"file", "options"} loads a tokenizer. A line [text, special, ids, ranges] is a case of it: `ids` is what the native
// engine gives, or the name of its error; `ranges` are starts and ends in units of UTF-16, or null. A line {"train", "options",
// "file"} trains on texts and compares the file.

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { load, trainHere } = await import(`${pathToFileURL(process.argv[2])}/toksmith.js`);
const MOST_SHOWN = 5;
const differences = [];
let tokenizer;
let name;
let [cases, different] = [0, 0];

const same = (left, right) => left.length === right.length && left.every((value, place) => value === right[place]);

/** What differs between the module and the native engine. */
function difference([text, special, ids, ranges]) {
  let found;
  try {
    found = tokenizer.encode(text, { special });
  } catch (error) {
    return error.name === ids ? undefined : `${error.name}: ${error.message}`;
  }
  if (typeof ids === "string" || !same(found, ids)) return `ids ${found}`;
  const count = tokenizer.count(text, { special });
  if (count !== ids.length) return `count ${count}`;
  if (ranges === null) return undefined;
  const { starts, ends, ids: placed } = tokenizer.encodeWithOffsets(text, { special });
  if (!same(placed, ids) || !same(starts, ranges[0]) || !same(ends, ranges[1])) return `ranges ${starts} to ${ends}`;
  return undefined;
}

/** What differs in decoding; `decoded` is the text that the native engine gives for `ids`. */
function decoding([ids, decoded]) {
  const text = tokenizer.decode(ids);
  return text === decoded ? undefined : `text ${JSON.stringify(text)}`;
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const value = JSON.parse(line);
  let problem;
  if (value.train !== undefined) {
    const file = (await trainHere(value.train, value.options)).save();
    problem = Buffer.compare(file, await readFile(value.file)) === 0 ? undefined : `the file of ${file.length} bytes`;
  } else if (value.file !== undefined) {
    [tokenizer, name] = [await load(pathToFileURL(value.file), value.options), value.file];
    continue;
  } else {
    problem = value.length === 2 ? decoding(value) : difference(value);
  }
  cases += 1;
  if (problem === undefined) continue;
  different += 1;
  if (differences.length < MOST_SHOWN) differences.push({ name, line: line.slice(0, 2000), problem: problem.slice(0, 2000) });
}
console.log(JSON.stringify({ cases, different, differences }));
