// Work that is asked for again while it runs.

// Runs `work` now, or once more after the run that is going on: what is asked in between is skipped. The promise is
// kept when there is nothing left to run.
export function latest(work) {
  let running = null;
  let again = false;
  return function run() {
    again = true;
    running ??= (async () => {
      try {
        while (again) {
          again = false;
          await work(() => again);
        }
      } finally {
        running = null;
      }
    })();
    return running;
  };
}
