// The worker of a training: gets its texts and options, and posts progress, then the file or the error.

import { trainFile } from "./toksmith.js";

const POST_EVERY_MS = 50;
const port = globalThis.process?.versions?.node ? (await import("node:worker_threads")).parentPort : globalThis;

port.addEventListener("message", ({ data }) => {
  let [last, waiting, state] = [0, [], {}];
  const post = () => {
    port.postMessage({ progress: { ...state, merges: Float64Array.from(waiting) } });
    [last, waiting] = [performance.now(), []];
  };
  const report = ({ merges, ...progress }) => {
    waiting.push(...merges);
    state = progress;
    if (performance.now() - last >= POST_EVERY_MS) post();
  };
  try {
    const file = trainFile(data, report);
    post();
    port.postMessage({ file });
  } catch ({ name, message }) {
    port.postMessage({ error: { name, message } });
  }
});
