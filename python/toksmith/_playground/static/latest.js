// Work that is requested again while it runs.

// Runs `work` now, cancels the running work, and skips requests in between. `work` gets a function that returns
// whether it was requested again, and the abort signal for its requests. The promise resolves when no work is left.
export function latest(work) {
  let running = null;
  let again = false;
  let control = null;
  return function run() {
    again = true;
    control?.abort();
    running ??= (async () => {
      try {
        while (again) {
          again = false;
          control = new AbortController();
          await work(() => again, control.signal);
        }
      } finally {
        running = null;
        control = null;
      }
    })();
    return running;
  };
}
