// node run_cases.mjs FOLDER: runs the cases of standard input through the module in FOLDER, and prints the result.

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

import { runCases } from "./cases.mjs";

const toksmith = await import(`${pathToFileURL(process.argv[2])}/toksmith.js`);
const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
console.log(JSON.stringify(await runCases(toksmith, lines, readFile)));
