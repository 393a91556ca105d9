// node read_files.mjs FOLDER MODULE: loads files of other formats, and prints how many give another native file.
//
// A line {"name", "data", "native"} has a file in base64 and the native file of the Python package; null if that refuses it.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { init, load, ToksmithError } = await import(`${pathToFileURL(process.argv[2])}/toksmith.js`);
await init(pathToFileURL(`${process.argv[2]}/toksmith-full.wasm`));
const result = { files: 0, refused: 0, different: [] };
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { name, data, native } = JSON.parse(line);
  result.files += 1;
  try {
    const saved = Buffer.from((await load(new Uint8Array(Buffer.from(data, "base64")))).save());
    if (native === null || !saved.equals(Buffer.from(native, "base64"))) {
      const lines = saved.toString().split("\n");
      const wanted = native === null ? [] : Buffer.from(native, "base64").toString().split("\n");
      const at = lines.findIndex((each, place) => each !== wanted[place]);
      result.different.push([name, native === null ? "is loaded" : `${at}: ${lines[at]} for ${wanted[at]}`.slice(0, 3000)]);
    }
  } catch (error) {
    result.refused += 1;
    const isNamed = error instanceof ToksmithError;
    // The page has no Oniguruma, and its numbers have 53 bits.
    if (!isNamed || (native !== null && !/Oniguruma|2\^53/.test(error.message))) result.different.push([name, `${error.stack}`.slice(0, 1000)]);
  }
}
console.log(JSON.stringify({ ...result, different: result.different.length, shown: result.different.slice(0, 5) }));
