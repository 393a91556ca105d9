// Work that is asked for again while it runs.

// Runs `work` now; what runs already is given up, and what is asked in between is skipped. `work` gets a function that says
// whether it was asked for again, and the signal that tells its questions so. The promise is kept when nothing is left to run.
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
