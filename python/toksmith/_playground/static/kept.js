// What this page keeps in this browser, on this machine: the theme, earlier texts, and prices. Nothing of it is sent anywhere.

const PREFIX = 'toksmith-';

// What was kept under a name; `otherwise` where nothing was, or it cannot be read.
export function kept(name, otherwise) {
  try {
    const found = localStorage.getItem(PREFIX + name);
    if (found === null) return otherwise;
    return typeof otherwise === 'string' ? found : JSON.parse(found);
  } catch {
    return otherwise; // a browser that keeps nothing, or something that somebody else wrote
  }
}

// Keeps a value; whether there was room for it.
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
  } catch { /* it was not kept either */ }
}
