// The page's storage in this browser: the theme, earlier texts, and prices. It is never sent anywhere.

const PREFIX = 'toksmith-';

// The value stored under a name; `otherwise` if there is none or it cannot be read.
export function readKept(name, otherwise) {
  try {
    const found = localStorage.getItem(PREFIX + name);
    if (found === null) return otherwise;
    return typeof otherwise === 'string' ? found : JSON.parse(found);
  } catch {
    return otherwise; // a browser without storage, or a value of another program
  }
}

// Stores a value; returns whether there was room for it.
export function keep(name, value) {
  try {
    localStorage.setItem(PREFIX + name, typeof value === 'string' ? value : JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

export function forget(name) {
  try {
    localStorage.removeItem(PREFIX + name);
  } catch { /* it was not stored either */ }
}
