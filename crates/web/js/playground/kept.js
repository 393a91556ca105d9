// The tokenizers that this browser keeps: their facts and their native files by name, for every tab of the page.

const NAME = "toksmith-tokenizers";
const STORES = ["facts", "files"];

let opened;

function database() {
  opened ??= new Promise((resolve, reject) => {
    const asked = indexedDB.open(NAME, 1);
    asked.onupgradeneeded = () => STORES.forEach((store) => asked.result.createObjectStore(store));
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });
  opened.catch(() => (opened = undefined));
  return opened;
}

/** The result of `work` with the stores, after all of it is written. */
async function runTransaction(mode, work) {
  const transaction = (await database()).transaction(STORES, mode);
  const asked = work(...STORES.map((store) => transaction.objectStore(store)));
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(asked.result);
    transaction.onabort = () => reject(transaction.error ?? new Error("the browser gave it up"));
  });
}

/** The facts of all, or none where the browser has no storage. */
export const facts = () => runTransaction("readonly", (store) => store.getAll()).catch(() => []);

/** The file of one; undefined if another tab removed it. */
export const fileOf = (name) => runTransaction("readonly", (_, files) => files.get(name));

/** Keeps one; fails if the name is taken, or the storage is full or refused. */
export const keep = (about, file) =>
  runTransaction("readwrite", (store, files) => {
    files.add(file, about.name);
    return store.add(about, about.name);
  });

export const forget = (name) =>
  runTransaction("readwrite", (store, files) => {
    files.delete(name);
    return store.delete(name);
  });
